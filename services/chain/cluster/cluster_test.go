package cluster_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"go.uber.org/goleak"

	"dyno/parts/freeport"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
	"dyno/services/chain/peers"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

// member is a node of a cluster, as a process.
type member struct {
	t       *testing.T
	command []string
	p       *process.Process // nil: it does not run
}

var client = &http.Client{Timeout: 15 * time.Second}

// cluster makes the nodes of a cluster, which do not run yet.
func cluster(t *testing.T, size int, args ...string) []*member {
	program := builds.Program(t, "dyno/services/chain/cmd/chaind")
	dir := t.TempDir()
	keys := make([]peers.Key, size)
	addresses, err := freeport.Loopback(size)
	if err != nil {
		t.Fatal(err)
	}
	for i := range size {
		keys[i] = peers.NewKey()
		if err := keys[i].Write(filepath.Join(dir, fmt.Sprint(i, ".key"))); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(client.CloseIdleConnections)
	all := make([]*member, size)
	for i := range size {
		command := append([]string{
			program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0", "--consensus=raft", "--data", filepath.Join(dir, fmt.Sprint(i)),
			"--node-key", filepath.Join(dir, fmt.Sprint(i, ".key")), "--peer-listen", addresses[i].String(),
		}, args...)
		for other := range size {
			if other != i {
				command = append(command, "--peer", keys[other].ID().String()+"@"+addresses[other].String())
			}
		}
		all[i] = &member{t: t, command: command}
	}
	return all
}

func (m *member) start() { m.p = processtest.Start(m.t, m.command...) }

func (m *member) kill() {
	m.p.Kill()
	m.p = nil
}

// call calls a method, and returns an error when there is no good answer.
func (m *member) call(into any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	resp, err := client.Post("http://"+m.p.Ready()["listen"], "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var out struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return err
	}
	if out.Error != nil {
		return fmt.Errorf("%s", out.Error.Message)
	}
	return json.Unmarshal(out.Result, into)
}

// leads asks a node whether it leads.
func (m *member) leads() bool {
	resp, err := client.Get("http://" + m.p.Ready()["debug"] + "/debug/chain/peers")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var page struct{ Leads bool }
	return json.NewDecoder(resp.Body).Decode(&page) == nil && page.Leads
}

// leader waits for the node that leads.
func leader(t *testing.T, all []*member) (found *member) {
	t.Helper()
	servicetest.Await(t, func() string { return "a leader" }, func() bool {
		for _, m := range all {
			if m.p != nil && m.leads() {
				found = m
			}
		}
		return found != nil
	})
	return found
}

// head is the number of a node's last block.
func (m *member) head() uint64 {
	var number hexutil.Uint64
	if err := m.call(&number, "eth_blockNumber"); err != nil {
		m.t.Fatal(err)
	}
	return uint64(number)
}

// block is the hash of a block; zero: the node has not got it.
func (m *member) block(number uint64) (hash common.Hash) {
	var b *struct{ Hash common.Hash }
	if err := m.call(&b, "eth_getBlockByNumber", hexutil.Uint64(number), false); err != nil {
		m.t.Fatal(err)
	}
	if b != nil {
		hash = b.Hash
	}
	return hash
}

// agree waits until all nodes have the same blocks.
func agree(t *testing.T, all []*member) {
	t.Helper()
	highest := uint64(0)
	for _, m := range all {
		highest = max(highest, m.head())
	}
	for _, m := range all {
		servicetest.Await(t, func() string { return fmt.Sprintf("block %d of a node at %d", highest, m.head()) }, func() bool { return m.head() >= highest })
	}
	for n := range highest + 1 {
		want := all[0].block(n)
		for i, m := range all[1:] {
			if got := m.block(n); got != want {
				t.Fatalf("block %d is %x on node 0 and %x on node %d", n, want, got, i+1)
			}
		}
	}
}

// sender sends transfers from an account until it is stopped, to any node that runs.
type sender struct {
	account  int
	nonce    uint64
	accepted []common.Hash
}

func (s *sender) transfer() *types.Transaction {
	key := chaintest.DevelopmentKeys()[s.account]
	return types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(chaintest.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(chaintest.ChainID), Nonce: s.nonce, Gas: 21000, GasFeeCap: big.NewInt(1e12), GasTipCap: big.NewInt(1e9), To: &common.Address{1}, Value: big.NewInt(1),
	})
}

func (s *sender) send(m *member) error {
	raw, err := s.transfer().MarshalBinary()
	if err != nil {
		return err
	}
	var hash common.Hash
	if err := m.call(&hash, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		return err
	}
	s.accepted = append(s.accepted, hash)
	s.nonce++
	return nil
}

// insist sends until the node accepts: on a busy machine nodes choose another leader now and then.
func (s *sender) insist(t *testing.T, m *member) {
	t.Helper()
	var err error
	servicetest.Await(t, func() string { return fmt.Sprintf("a transaction is accepted: %v", err) }, func() bool {
		if err = s.send(m); err != nil { // the answer alone may have been lost
			var nonce hexutil.Uint64
			if m.call(&nonce, "eth_getTransactionCount", chaintestAddress(s.account), "pending") == nil {
				s.nonce = max(s.nonce, uint64(nonce))
			}
		}
		return err == nil
	})
}

// mined waits until all nodes show a receipt of each accepted transaction, in the same block.
func (s *sender) mined(t *testing.T, all []*member) {
	t.Helper()
	for _, hash := range s.accepted {
		var first common.Hash
		for _, m := range all {
			var r *struct{ BlockHash common.Hash }
			servicetest.Await(t, func() string { return fmt.Sprintf("the receipt of %x", hash) }, func() bool {
				return m.call(&r, "eth_getTransactionReceipt", hash) == nil && r != nil
			})
			if first == (common.Hash{}) {
				first = r.BlockHash
			}
			if r.BlockHash != first {
				t.Fatalf("%x is in the block %x on one node and %x on another", hash, first, r.BlockHash)
			}
		}
	}
}

var kills = flag.Int("kills", 0, "how often TestLeaderIsKilled kills the leader; 0: twice, or 8 times when tests run in full")

// The leader is killed while transactions come to all nodes: each that was accepted is mined, and
// all nodes have one chain.
func TestLeaderIsKilled(t *testing.T) {
	all := cluster(t, 3, "--set=seal=timer")
	for _, m := range all {
		m.start()
	}
	n := *kills
	if n == 0 {
		n = quicktest.Of(2, 8)
	}
	senders := []*sender{{account: 0}, {account: 1}, {account: 2}}
	var longest time.Duration
	for range n {
		victim := leader(t, all)
		stop := make(chan struct{})
		var sending sync.WaitGroup
		for i, s := range senders {
			to := all[i]
			sending.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = s.send(to) // killed, or without a leader
					}
				}
			})
		}
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond) // a random moment
		victim.p.Kill()
		killed := time.Now()
		close(stop)
		sending.Wait()
		dead := victim
		dead.p = nil
		next := leader(t, all)
		longest = max(longest, time.Since(killed))
		dead.start()
		for _, s := range senders { // an answer may have been lost
			var nonce hexutil.Uint64
			if err := next.call(&nonce, "eth_getTransactionCount", chaintestAddress(s.account), "pending"); err == nil {
				s.nonce = max(s.nonce, uint64(nonce))
			}
		}
	}
	accepted := 0
	for _, s := range senders {
		s.mined(t, all)
		accepted += len(s.accepted)
	}
	agree(t, all)
	t.Logf("%d transactions were accepted; the longest time without a leader was %v", accepted, longest)
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
	for _, m := range all {
		processtest.Stop(t, m.p)
	}
}

func chaintestAddress(account int) common.Address {
	return (&chaintest.Account{Key: chaintest.DevelopmentKeys()[account]}).Address()
}

// A node that joins when the others have dropped their logs gets the blocks from them.
func TestLateJoiner(t *testing.T) {
	all := cluster(t, 3, "--set=seal=each")
	all[0].start()
	all[1].start()
	s := &sender{account: 0}
	l := leader(t, all)
	for range 30 {
		s.insist(t, l)
	}
	s.mined(t, all[:2])
	for _, m := range all[:2] { // a clean stop makes a checkpoint
		processtest.Stop(t, m.p)
		m.p = nil
	}
	all[0].start()
	all[1].start()
	leader(t, all)
	all[2].start()
	s.mined(t, all)
	s.insist(t, all[2])
	s.mined(t, all)
	agree(t, all)
	for _, m := range all {
		processtest.Stop(t, m.p)
	}
}
