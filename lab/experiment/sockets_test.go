package experiment

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// node is an Ethereum node with what a load needs: it accepts transactions, rejects every tenth,
// and announces a block for each that it accepted.
type node struct {
	mu        sync.Mutex
	followers []*websockettest.Peer // peers that subscribed to blocks
	seen      map[string]int        // transaction -> how often it arrived
}

// hashOf returns the hash of a transaction, and of the block that contains it.
func (n *node) hashOf(transaction string) string { return fmt.Sprintf(`"0x%064s"`, transaction) }

func (n *node) serve(p *websockettest.Peer) {
	for {
		op, message, err := p.Frame()
		if err != nil || op != 1 {
			return
		}
		var call struct {
			ID     json.RawMessage
			Method string
			Params []any
		}
		if json.Unmarshal(message, &call) != nil || len(call.Params) == 0 {
			return
		}
		n.call(p, call.Method, string(call.ID), fmt.Sprint(call.Params[0]))
	}
}

func (n *node) call(p *websockettest.Peer, method, id, param string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := func(to *websockettest.Peer, text string) { io.WriteString(to, websockettest.Text(text)) }
	switch method {
	case "eth_subscribe":
		n.followers = append(n.followers, p)
		answer(p, `{"id":`+id+`,"result":"0x1"}`)
	case "eth_getBlockByHash":
		answer(p, `{"id":`+id+`,"result":{"transactions":["`+param+`"]}}`)
	case "eth_sendRawTransaction":
		n.seen[param]++
		if strings.HasSuffix(param, "9") {
			answer(p, `{"id":`+id+`,"error":{"code":-32000,"message":"no"}}`)
			return
		}
		answer(p, `{"id":`+id+`,"result":`+n.hashOf(param)+`}`)
		for _, f := range n.followers {
			answer(f, `{"method":"eth_subscription","params":{"result":{"transactionsRoot":"0x1","hash":`+n.hashOf(param)+`}}}`)
		}
	}
}

// overSockets carries out an experiment with the fake node; more holds further lines of the
// scenario.
func overSockets(t *testing.T, n *node, more string) *record.Run {
	t.Helper()
	n.seen = map[string]int{}
	u := websockettest.Serve(t, n.serve)
	plain := &url.URL{Scheme: "http", Host: u.Host}
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: sockets
target: {url: "%s"}
load:
  url: "%s"
  body: '{"jsonrpc":"2.0","id":"${id}","method":"eth_sendRawTransaction","params":["${row.n}"]}'
  feeder: {file: %q}
  once: true
  connections: 2
  pipeline: 8
  schedule: {kind: constant, rate: 200}
%s
measure: {length: 1s, warmup: 100ms}
`, plain, u, rowsFile(t, 300), strings.ReplaceAll(more, "NODE", u.String())))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for row, times := range n.seen {
		if times != 1 {
			t.Errorf("transaction %s was sent %d times", row, times)
		}
	}
	r := exp.Runs[0]
	if r.Totals.Offered != 200 || r.Totals.Errors["check"] != 20 || r.Totals.Failed != 20 || r.Load.Engine != "websocket" {
		t.Errorf("engine %s, offered %d, failed %d: %v", r.Load.Engine, r.Totals.Offered, r.Totals.Failed, r.Totals.Errors)
	}
	return r
}

func TestLoadOverWebSockets(t *testing.T) { overSockets(t, new(node), "") }

// Blocks report deliveries: every accepted transaction is delivered, and no other.
func TestBlocksAsReceipts(t *testing.T) {
	r := overSockets(t, new(node), "  receipts: NODE\nmode: load\nslo: delivery,p99=10s")
	if r.Totals.Delivered != 180 || r.Totals.Undelivered != 0 || r.Totals.Duplicates != 0 {
		t.Errorf("delivered %d, undelivered %d, duplicates %d", r.Totals.Delivered, r.Totals.Undelivered, r.Totals.Duplicates)
	}
	if r.Totals.Delivery.P50 <= 0 {
		t.Errorf("latency of deliveries %v", r.Totals.Delivery)
	}
}
