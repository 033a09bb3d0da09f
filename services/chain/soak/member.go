package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// member is a node of several, as a process. Its addresses stay when it is killed.
type member struct {
	name       int
	peers      string // its address for them
	url, debug string
	data       string
	command    []string
	p          *process.Process // of the faults' goroutine
}

func (m *member) start(t testing.TB) {
	t.Helper()
	p, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{Command: m.command, ReadyLine: true, ReadyTimeout: servicetest.Patience})
	if err != nil {
		t.Fatalf("node %d: %v", m.name, err)
	}
	m.p = p
	t.Cleanup(p.Kill)
}

// stop stops the node in good order.
func (m *member) stop(t testing.TB) {
	t.Helper()
	processtest.Stop(t, m.p)
}

// client gives up where a node that is parted from the others does not answer: then it is open
// whether a transaction was accepted.
var client = &http.Client{Timeout: 5 * time.Second}

// calls sends an array of calls, and gives the answers to a function.
func (m *member) calls(calls []chaintest.Request, each func(chaintest.Answer) error) error {
	text, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	r, err := client.Post(m.url, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return answers(body, each)
}

// call makes one call.
func (m *member) call(into any, method string, params ...any) error {
	none := errors.New("there is no answer")
	err := m.calls([]chaintest.Request{chaintest.Call(1, method, params...)}, func(a chaintest.Answer) error {
		none = nil
		return a.Into(into)
	})
	return errors.Join(err, none)
}

// head is the number of the node's last block.
func (m *member) head() (uint64, error) {
	var number hexutil.Uint64
	err := m.call(&number, "eth_blockNumber")
	return uint64(number), err
}

// receipts reads receipts as JSON: "null" where there is none.
func (m *member) receipts(of []common.Hash) (all []string, err error) {
	var calls []chaintest.Request
	for i, hash := range of {
		calls = append(calls, chaintest.Call(i, "eth_getTransactionReceipt", hash))
	}
	err = m.calls(calls, func(a chaintest.Answer) error {
		all = append(all, string(a.Result))
		return a.Into(nil)
	})
	return all, err
}

// block is what nodes must have in common.
type block struct {
	Hash         common.Hash
	Transactions []common.Hash
}

// blocks reads some of the node's blocks.
func (m *member) blocks(from, to uint64) (all []block, err error) {
	var calls []chaintest.Request
	for n := from; n <= to; n++ {
		calls = append(calls, chaintest.Call(n, "eth_getBlockByNumber", hexutil.Uint64(n), false))
	}
	err = m.calls(calls, func(a chaintest.Answer) error {
		var b block
		err := a.Into(&b)
		all = append(all, b)
		return err
	})
	return all, err
}

// waiting is the number of transactions that are in no block.
func (m *member) waiting() (int, error) {
	var pool struct{ Pending, Queued hexutil.Uint64 }
	err := m.call(&pool, "txpool_status")
	return int(pool.Pending + pool.Queued), err
}

// page is what the node answers at its debug address.
func (m *member) page(path string) string {
	r, err := client.Get(m.debug + path)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// status is what a node says of itself and its peers.
type status struct {
	Leads bool
	Peers []peer
}

type peer struct {
	ID        string
	Connected bool
	Queued    int
	Dropped   int
	Score     int
	LastError string `json:"last_error"`
}

// status is empty when the node does not answer.
func (m *member) status() (s status) {
	if err := json.NewDecoder(strings.NewReader(m.page("/debug/chain/peers"))).Decode(&s); err != nil {
		return status{}
	}
	return s
}

// peer is what the node says of a peer.
func (m *member) peer(id string) peer {
	for _, p := range m.status().Peers {
		if p.ID == id {
			return p
		}
	}
	return peer{}
}

func (m *member) String() string { return fmt.Sprint("node ", m.name) }
