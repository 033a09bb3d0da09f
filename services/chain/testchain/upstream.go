package testchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// largestAnswer bounds an answer of another node, in bytes.
const largestAnswer = 64 << 20

// mostCalls bounds the calls of an array.
const mostCalls = 90

// upstream is another node on this machine, of whose chain a chain can be a fork. Its methods may be called
// from any goroutine.
type upstream struct {
	url    string // its path may have a key, which errors do not show
	host   string // with the port
	client *http.Client
	most   atomic.Int64 // calls of an array that the node takes; 0: it takes no array
}

// newUpstream returns the node at a URL. Nothing is sent to it.
func newUpstream(at string) (*upstream, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this is no URL of a node: give one such as http://127.0.0.1:8546")
	}
	if address, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !address.IsLoopback()) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%.200q is not on this machine, and only a node on it can be forked: give a URL such as http://127.0.0.1:8546, of a node or of a proxy to one", u.Host)
	}
	out := &upstream{url: at, host: u.Host, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	out.most.Store(mostCalls)
	return out, nil
}

// close closes the connections that are not used.
func (u *upstream) close() { u.client.CloseIdleConnections() }

// question is a call, and where its result goes.
type question struct {
	method string
	params []any
	into   any
}

// refused is an error that another node answers.
type refused struct {
	method  string
	code    int
	message string
}

// Error implements error.
func (e *refused) Error() string {
	return fmt.Sprintf("the node that is forked answers %s with the error %d: %.500s", e.method, e.code, e.message)
}

// unread is an answer that is none of JSON-RPC to what was sent, such as that of a gateway.
type unread struct {
	says string
	busy bool // the same may be answered later
}

// Error implements error.
func (e *unread) Error() string {
	if e.busy {
		return "the node that is forked " + e.says + "; try again later"
	}
	return "the node that is forked " + e.says
}

// isRefusal reports whether an error means that another node answers, but not what it was asked for.
func isRefusal(err error) bool { return errors.As(err, new(*refused)) || isUnread(err) }

// isUnread reports whether an error is such an answer, and would be again.
func isUnread(err error) bool {
	e := new(unread)
	return errors.As(err, &e) && !e.busy
}

// ask makes calls in arrays that the node takes, and reads their results.
func (u *upstream) ask(a *asking, all ...question) error { return u.askBy(a, int(u.most.Load()), all) }

// askBy asks in arrays of a number of calls, in smaller ones where the node refuses one, and at last without:
// gateways have bounds of their own. Where one call of an array is refused, the node takes such arrays still.
func (u *upstream) askBy(a *asking, most int, all []question) error {
	for some := range slices.Chunk(all, max(most, 1)) {
		err := u.send(a, some, most > 0)
		if bound := isUnread(err); most > 0 && (bound || len(some) > 1 && isRefusal(err)) {
			smaller := len(some) / 2
			if err = u.askBy(a, smaller, some); err == nil && bound {
				u.most.Store(min(u.most.Load(), int64(smaller)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send makes calls in one array, or one call without, and reads their results.
func (u *upstream) send(a *asking, all []question, array bool) error {
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
	var message any = calls
	if !array {
		message = calls[0]
	}
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, done, err := a.begin()
	if err != nil {
		return err
	}
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := u.client.Do(req)
	if err != nil {
		if e := new(url.Error); errors.As(err, &e) {
			err = e.Err // without the URL
		}
		return fmt.Errorf("the node that is forked does not answer at %s: %w; --fork-url and anvil_setRpcUrl say where it is now", u.host, err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, largestAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer of the node that is forked did not arrive: %w", err)
	case len(text) > largestAnswer:
		return fmt.Errorf("an answer of the node that is forked has more than %d bytes", largestAnswer)
	case resp.StatusCode != http.StatusOK:
		busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
		return &unread{fmt.Sprintf("answers with the status %d: %.200q", resp.StatusCode, text), busy}
	}
	if !array {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	return readAnswers(text, all)
}

// readAnswers reads the answers to calls.
func readAnswers(text []byte, all []question) error {
	var answers []struct {
		ID     *int
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(text, &answers); err != nil {
		return &unread{says: fmt.Sprintf("does not answer calls as JSON-RPC says: %.200q", text)}
	}
	seen := make([]bool, len(all))
	for _, a := range answers {
		if a.ID == nil && a.Error != nil {
			return &unread{says: fmt.Sprintf("answers with the error %d: %.500s", a.Error.Code, a.Error.Message)}
		}
		if a.ID == nil || *a.ID < 0 || *a.ID >= len(all) || seen[*a.ID] {
			return &unread{says: "answers a call that was not made"}
		}
		q := all[*a.ID]
		seen[*a.ID] = true
		if a.Error != nil {
			return &refused{q.method, a.Error.Code, a.Error.Message}
		}
		if err := json.Unmarshal(a.Result, q.into); err != nil {
			return fmt.Errorf("the node that is forked answers %s with %.100q: %w", q.method, a.Result, err)
		}
	}
	for i, q := range all {
		if !seen[i] {
			return &unread{says: "does not answer " + q.method}
		}
	}
	return nil
}

// head is the number of the last block.
func (u *upstream) head(a *asking) (uint64, error) {
	var n hexutil.Uint64
	err := u.ask(a, question{"eth_blockNumber", []any{}, &n})
	return uint64(n), err
}

// accounts reads the accounts that records are about, after a block.
func (u *upstream) accounts(a *asking, number uint64, all ...*read) error {
	var questions []question
	for _, r := range all {
		params := []any{*r.Account, hexutil.Uint64(number)}
		questions = append(questions, question{"eth_getTransactionCount", params, &r.Nonce}, question{"eth_getBalance", params, &r.Balance}, question{"eth_getCode", params, &r.Code})
	}
	if err := u.ask(a, questions...); err != nil {
		return err
	}
	for _, r := range all {
		if r.Balance == nil {
			return fmt.Errorf("the node that is forked does not know the balance of %v after block %d", r.Account, number)
		}
	}
	return nil
}

// slot reads a slot of an account after a block.
func (u *upstream) slot(a *asking, of common.Address, slot common.Hash, number uint64, into *read) error {
	var value hexutil.Bytes
	err := u.ask(a, question{"eth_getStorageAt", []any{of, slot, hexutil.Uint64(number)}, &value})
	word := common.BytesToHash(value)
	into.Account, into.Slot, into.Value = &of, &slot, &word
	return err
}

// header returns the header of a block; store.ErrNotFound if there is none.
func (u *upstream) header(a *asking, number uint64) (*types.Header, error) {
	var header *types.Header
	err := u.ask(a, question{"eth_getBlockByNumber", []any{hexutil.Uint64(number), false}, &header})
	switch {
	case err != nil:
		return nil, err
	case header == nil:
		return nil, fmt.Errorf("the node that is forked has no block %d: %w", number, store.ErrNotFound)
	case header.Number.Cmp(new(big.Int).SetUint64(number)) != 0:
		return nil, fmt.Errorf("the node that is forked answers block %v for %d", header.Number, number)
	}
	return header, judge(header)
}

// numberOf returns the number of the block that has a hash; store.ErrNotFound if there is none.
func (u *upstream) numberOf(a *asking, hash common.Hash) (uint64, error) {
	var block *struct{ Number hexutil.Uint64 }
	err := u.ask(a, question{"eth_getBlockByHash", []any{hash, false}, &block})
	if err == nil && block == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return uint64(block.Number), nil
}

// transaction returns where a transaction is; store.ErrNotFound if it is in no block.
func (u *upstream) transaction(a *asking, hash common.Hash) (at place, err error) {
	var tx *struct{ BlockNumber, TransactionIndex *hexutil.Uint64 }
	err = u.ask(a, question{"eth_getTransactionByHash", []any{hash}, &tx})
	if err == nil && (tx == nil || tx.BlockNumber == nil || tx.TransactionIndex == nil) {
		err = store.ErrNotFound
	}
	if err != nil {
		return at, err
	}
	return place{uint64(*tx.BlockNumber), uint32(*tx.TransactionIndex)}, nil
}
