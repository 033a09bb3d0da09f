package testchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// Bounds of what another node is asked.
const (
	patience      = 10 * time.Second // for an answer
	largestAnswer = 64 << 20         // bytes
)

// upstream is another node on this machine, of whose chain a chain can be a fork. Its methods may be called
// from any goroutine.
type upstream struct {
	url    string
	client *http.Client
}

// newUpstream returns the node at a URL. Nothing is sent to it.
func newUpstream(at string) (*upstream, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%.200q is no URL of a node: give one such as http://127.0.0.1:8546", at)
	}
	if address, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !address.IsLoopback()) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%.200q is not on this machine, and only a node on it can be forked: give a URL such as http://127.0.0.1:8546, of a node or of a proxy to one", at)
	}
	return &upstream{at, &http.Client{
		Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// close closes the connections that are not used.
func (u *upstream) close() { u.client.CloseIdleConnections() }

// question is a call, and where its result goes.
type question struct {
	method string
	params []any
	into   any
}

// ask makes calls in one array, and reads their results.
func (u *upstream) ask(all ...question) error {
	type call struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}
	calls := make([]call, len(all))
	for i, q := range all {
		calls[i] = call{"2.0", i, q.method, q.params}
	}
	text, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	resp, err := u.client.Post(u.url, "application/json", bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("the node that is forked does not answer: %w; anvil_setRpcUrl says where it is now", err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, largestAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer of the node that is forked did not arrive: %w", err)
	case len(text) > largestAnswer:
		return fmt.Errorf("an answer of the node that is forked has more than %d bytes", largestAnswer)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the node that is forked answers with the status %d: %.200q", resp.StatusCode, text)
	}
	return readAnswers(text, all)
}

// readAnswers reads the answers to calls.
func readAnswers(text []byte, all []question) error {
	var answers []struct {
		ID     *int
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answers); err != nil {
		return fmt.Errorf("the node that is forked does not answer arrays of calls: %.200q", text)
	}
	seen := make([]bool, len(all))
	for _, a := range answers {
		if a.ID == nil || *a.ID < 0 || *a.ID >= len(all) || seen[*a.ID] {
			return errors.New("the node that is forked answers a call that was not made")
		}
		q := all[*a.ID]
		seen[*a.ID] = true
		if a.Error != nil {
			return fmt.Errorf("the node that is forked answers %s: %.500s", q.method, a.Error.Message)
		}
		if err := json.Unmarshal(a.Result, q.into); err != nil {
			return fmt.Errorf("the node that is forked answers %s with %.100q: %w", q.method, a.Result, err)
		}
	}
	for i, q := range all {
		if !seen[i] {
			return fmt.Errorf("the node that is forked does not answer %s", q.method)
		}
	}
	return nil
}

// head is the number of the last block.
func (u *upstream) head() (uint64, error) {
	var n hexutil.Uint64
	err := u.ask(question{"eth_blockNumber", []any{}, &n})
	return uint64(n), err
}

// account reads an account after a block.
func (u *upstream) account(of common.Address, number uint64, into *read) error {
	at := hexutil.Uint64(number)
	into.Account = &of
	return u.ask(
		question{"eth_getTransactionCount", []any{of, at}, &into.Nonce},
		question{"eth_getBalance", []any{of, at}, &into.Balance},
		question{"eth_getCode", []any{of, at}, &into.Code},
	)
}

// slot reads a slot of an account after a block.
func (u *upstream) slot(of common.Address, slot common.Hash, number uint64, into *read) error {
	var value hexutil.Bytes
	err := u.ask(question{"eth_getStorageAt", []any{of, slot, hexutil.Uint64(number)}, &value})
	word := common.BytesToHash(value)
	into.Account, into.Slot, into.Value = &of, &slot, &word
	return err
}

// forkPoint is a block of another node: the parameters of the record of a fork.
type forkPoint struct {
	ID       uint64          `json:"id"`
	URL      string          `json:"url"`
	ChainID  hexutil.Uint64  `json:"chainId"`
	Block    hexutil.Bytes   `json:"block"` // in RLP
	Receipts []hexutil.Bytes `json:"receipts"`
}

// point returns a block: whole, or where the node does not answer that, with its header alone.
func (u *upstream) point(number uint64) (*forkPoint, error) {
	p, at := &forkPoint{URL: u.url}, hexutil.Uint64(number)
	if u.ask(question{"debug_getRawBlock", []any{at}, &p.Block}, question{"debug_getRawReceipts", []any{at}, &p.Receipts}) == nil && len(p.Block) > 0 {
		if _, _, err := p.decode(); err == nil {
			return p, nil
		}
	}
	var header *types.Header
	if err := u.ask(question{"eth_getBlockByNumber", []any{at, false}, &header}); err != nil {
		return nil, err
	}
	if header == nil {
		return nil, fmt.Errorf("the node that is forked has no block %d: %w", number, store.ErrNotFound)
	}
	raw, err := rlp.EncodeToBytes(types.NewBlockWithHeader(header))
	p.Block, p.Receipts = raw, nil
	return p, err
}

// decode returns the block with what consensus knows of its receipts.
func (p *forkPoint) decode() (*types.Block, types.Receipts, error) {
	block := new(types.Block)
	if err := rlp.DecodeBytes(p.Block, block); err != nil {
		return nil, nil, fmt.Errorf("the block of the node that is forked cannot be read: %w", err)
	}
	if err := block.SanityCheck(); err != nil {
		return nil, nil, err
	}
	if len(p.Receipts) != len(block.Transactions()) {
		return nil, nil, fmt.Errorf("the block of the node that is forked has %d transactions and %d receipts", len(block.Transactions()), len(p.Receipts))
	}
	receipts := make(types.Receipts, len(p.Receipts))
	for i, raw := range p.Receipts {
		receipts[i] = new(types.Receipt)
		if err := receipts[i].UnmarshalBinary(raw); err != nil {
			return nil, nil, fmt.Errorf("a receipt of the node that is forked cannot be read: %w", err)
		}
	}
	return block, receipts, nil
}

// block returns a block that cannot be executed over.
func (u *upstream) block(number uint64) (*sealed, error) {
	p, err := u.point(number)
	if err != nil {
		return nil, err
	}
	block, receipts, err := p.decode()
	return &sealed{block: block, receipts: receipts}, err
}

// numberOf returns the number of the block that has a hash; store.ErrNotFound if there is none.
func (u *upstream) numberOf(hash common.Hash) (uint64, error) {
	var block *struct{ Number hexutil.Uint64 }
	err := u.ask(question{"eth_getBlockByHash", []any{hash, false}, &block})
	if err == nil && block == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return uint64(block.Number), nil
}

// transaction returns where a transaction is; store.ErrNotFound if it is in no block.
func (u *upstream) transaction(hash common.Hash) (at place, err error) {
	var tx *struct{ BlockNumber, TransactionIndex *hexutil.Uint64 }
	err = u.ask(question{"eth_getTransactionByHash", []any{hash}, &tx})
	if err == nil && (tx == nil || tx.BlockNumber == nil || tx.TransactionIndex == nil) {
		err = store.ErrNotFound
	}
	if err != nil {
		return at, err
	}
	return place{uint64(*tx.BlockNumber), uint32(*tx.TransactionIndex)}, nil
}
