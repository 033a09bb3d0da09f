package filter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/api/filter"
	"dyno/services/chain/jsonrpc"
)

// socket is a WebSocket of a test.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

// listen serves filters, and returns a socket to them and what stops the server.
func listen(t *testing.T, f *filter.Filters) (socket, func()) {
	t.Helper()
	rpc := jsonrpc.NewServer(f.Methods(), jsonrpc.Options{Codec: jsonrpc.Std{}})
	s := httptest.NewServer(rpc)
	conn, _, err := websocket.Dial(t.Context(), s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 30)
	return socket{t, conn}, func() {
		go conn.CloseRead(context.Background()) // so that it answers the close frame
		if err := rpc.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		f.Wait()
		s.Close()
		conn.CloseNow()
	}
}

// event is an answer or a notification.
type event struct {
	Result json.RawMessage
	Error  struct{ Message string }
	Params struct {
		Subscription string
		Result       json.RawMessage
	}
}

func (s socket) receive() (e event) {
	s.t.Helper()
	_, text, err := s.conn.Read(s.t.Context())
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		s.t.Fatalf("%.300s: %v", text, err)
	}
	return e
}

// ask calls a method while no notification is on its way.
func (s socket) ask(method, params string) string {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)); err != nil {
		s.t.Fatal(err)
	}
	e := s.receive()
	if e.Error.Message != "" {
		return e.Error.Message
	}
	return strings.Trim(string(e.Result), `"`)
}

// Subscribers receive each block's header and logs, in order, although the chain grows faster than
// they read.
func TestSubscribe(t *testing.T) {
	g, node := newGrowing()
	s, stop := listen(t, filter.New(node))
	defer stop()
	g.grow(logs(1, 1)...)
	heads, ones := s.ask("eth_subscribe", `["newHeads"]`), s.ask("eth_subscribe", `["logs",{"topics":["0x01`+strings.Repeat("0", 62)+`"]}]`)
	grown := make(chan struct{})
	const last = 300
	go func() {
		defer close(grown)
		for range last - 1 {
			g.grow(append(logs(2, 1), logs(1, 2)...)...)
		}
	}()
	head, found := 1, 0
	for head < last || found < 2*(last-1) {
		e := s.receive()
		var result struct{ Number, BlockNumber, LogIndex *hexutil.Uint64 }
		if err := json.Unmarshal(e.Params.Result, &result); err != nil {
			t.Fatalf("%s: %v", e.Params.Result, err)
		}
		switch e.Params.Subscription {
		case heads:
			if head++; *result.Number != hexutil.Uint64(head) {
				t.Fatalf("head %d, want %d", *result.Number, head)
			}
		case ones:
			if *result.BlockNumber != hexutil.Uint64(2+found/2) || *result.LogIndex != hexutil.Uint64(found%2) {
				t.Fatalf("log %d of block %d, after %d", *result.LogIndex, *result.BlockNumber, found)
			}
			found++
		}
	}
	<-grown
	for _, id := range []string{heads, ones} {
		if got := s.ask("eth_unsubscribe", `["`+id+`"]`); got != "true" {
			t.Error(got)
		}
	}
	g.grow(logs(2, 1)...)
	if got := s.ask("eth_unsubscribe", `["`+heads+`"]`); got != "subscription not found" {
		t.Error(got) // or an event
	}
}

// A block whose logs are more than a client's queue holds does not disconnect a client that reads.
func TestSubscribeLargeBlock(t *testing.T) {
	g, node := newGrowing()
	s, stop := listen(t, filter.New(node))
	defer stop()
	s.ask("eth_subscribe", `["logs"]`)
	const many = 20_000 // 10 MB
	g.grow(logs(many, 1)...)
	for i := range many {
		var log struct{ LogIndex hexutil.Uint }
		if err := json.Unmarshal(s.receive().Params.Result, &log); err != nil || log.LogIndex != hexutil.Uint(i) {
			t.Fatalf("log %d, want %d; %v", log.LogIndex, i, err)
		}
	}
}

func TestSubscribePending(t *testing.T) {
	g, node := newGrowing()
	s, stop := listen(t, filter.New(node))
	defer stop()
	g.accept(0)
	s.ask("eth_subscribe", `["newPendingTransactions"]`)
	for n := range 3 {
		hash := g.accept(uint64(1 + n))
		if got := string(s.receive().Params.Result); got != `"`+hash.Hex()+`"` {
			t.Errorf("%s, want %v", got, hash)
		}
	}
}

// The receipts of a block are one event; those of other transactions than the ones that were named are none.
func TestSubscribeReceipts(t *testing.T) {
	g, node := newGrowing()
	s, stop := listen(t, filter.New(node))
	defer stop()
	// The third transaction from now on.
	hash := types.NewTx(&types.LegacyTx{Nonce: 3, To: &common.Address{}}).Hash()
	all := s.ask("eth_subscribe", `["transactionReceipts"]`)
	one := s.ask("eth_subscribe", `["transactionReceipts",{"transactionHashes":["`+hash.Hex()+`"]}]`)
	next := map[string]hexutil.Uint64{all: 1, one: 3}
	for range 3 {
		g.grow(logs(1, 1)...)
	}
	for range 4 {
		e := s.receive()
		var receipts []struct {
			BlockNumber     hexutil.Uint64
			TransactionHash common.Hash
			Logs            []types.Log
		}
		if err := json.Unmarshal(e.Params.Result, &receipts); err != nil || len(receipts) != 1 {
			t.Fatalf("%s: %v", e.Params.Result, err)
		}
		id, got := e.Params.Subscription, receipts[0]
		if got.BlockNumber != next[id] || len(got.Logs) != 1 || id == one && got.TransactionHash != hash {
			t.Errorf("the receipt %+v, want one of block %d", got, next[id])
		}
		next[id]++
	}
}

// A subscription reads a few transactions ahead of its client, however many there are.
func TestSubscribeReadsLittleAhead(t *testing.T) {
	g, node := newGrowing()
	s, stop := listen(t, filter.New(node))
	defer stop()
	s.ask("eth_subscribe", `["newPendingTransactions",true]`)
	const many = 1000
	hashes := g.acceptAll(many, 0)
	for i := range many {
		var tx struct{ Hash common.Hash }
		if err := json.Unmarshal(s.receive().Params.Result, &tx); err != nil || tx.Hash != hashes[i] {
			t.Fatalf("transaction %d is %v, want %v; %v", i, tx.Hash, hashes[i], err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most > 64 {
		t.Errorf("%d transactions were read at a time", g.most)
	}
}

func TestSubscribeRefuses(t *testing.T) {
	_, node := newGrowing()
	f := filter.New(node)
	s, stop := listen(t, f)
	defer stop()
	for params, want := range map[string]string{
		`["newHeads"]`: "",
		`["syncing"]`:  "",
		`["nothing"]`:  `no "nothing" subscription in eth namespace`,
		`["transactionReceipts",{"transactionHashes":[` + strings.Repeat(`"`+common.Hash{}.Hex()+`",`, 200) + `"` + common.Hash{}.Hex() + `"]}]`: "exceed max number of transaction hashes allowed per transactionReceipts subscription",
		`["logs",{"toBlock":"pending"}]`:   "pending logs are not supported",
		`["logs",{"address":"0x1"}]`:       "invalid argument 1: json: cannot unmarshal hex string of odd length into Go struct field .address of type common.Address",
		`["newPendingTransactions","0x1"]`: "invalid argument 1: json: cannot unmarshal string into Go value of type bool",
		`[]`:                               "missing value for required argument 0",
	} {
		if got := s.ask("eth_subscribe", params); want != "" && got != want || want == "" && len(got) != 34 {
			t.Errorf("%s: %s", params, got)
		}
	}
	c := client{t, f.Methods()}
	c.want("over HTTP", c.ask("eth_subscribe", "newHeads"), "notifications not supported")
}
