package deliveries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// hashOf returns the n-th hash of the tests.
func hashOf(n int) string { return fmt.Sprintf(`"0x%064x"`, n) }

// followed runs Follow with a simulated node: act makes requests and blocks, and returns when all
// are delivered.
func followed(t *testing.T, units int, announce chan string, act func(s *load.Shard, b *Blocks, start int64)) (record.Totals, error) {
	t.Helper()
	bodies := map[string]string{} // block -> its transactions; only the serving goroutine uses it
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		if _, call, err := p.Frame(); err != nil || !strings.Contains(string(call), "eth_subscribe") {
			t.Errorf("%s, %v", call, err)
		}
		io.WriteString(p, websockettest.Text(`{"jsonrpc":"2.0","id":0,"result":"0x1"}`))
		for hashes := range announce {
			block, root := hashOf(1_000_000+len(bodies)), hashOf(7)
			if hashes == "" {
				root = emptyRoot
			}
			bodies[block] = hashes
			io.WriteString(p, websockettest.Text(`{"method":"eth_subscription","params":{"result":{"hash":`+block+`,"transactionsRoot":`+root+`}}}`))
			if hashes == "" {
				continue
			}
			_, call, err := p.Frame()
			if err != nil {
				return
			}
			if !strings.Contains(string(call), `"eth_getBlockByHash","params":[`+block+`,false]`) {
				t.Errorf("asked %s for block %s", call, block)
			}
			id, _, _ := strings.Cut(strings.TrimPrefix(string(call), `{"jsonrpc":"2.0","id":`), ",")
			io.WriteString(p, websockettest.Text(`{"id":`+id+`,"result":{"hash":`+block+`,"transactions":[`+hashes+`]}}`))
		}
		p.Frame() // until the client is gone
	})
	b, err := DialBlocks(t.Context(), u, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	plan := load.Plan{Start: monotonic.Now() - int64(time.Second), Length: record.WindowLength, Drain: time.Hour, Deliveries: 16, Units: units}
	totals, _, err := load.Run(t.Context(), plan, drive(func(p *load.Plan, rec *load.Recorder) { act(rec.Shards(1)[0], b, p.Start) }), nowhere{}, b.Follow)
	return totals, err
}

type drive func(p *load.Plan, rec *load.Recorder)

func (drive) Engine() string { return "hand" }

func (d drive) Drive(_ context.Context, p *load.Plan, rec *load.Recorder) error {
	d(p, rec)
	return nil
}

// answered makes a request whose answer accepts some transactions.
func answered(s *load.Shard, b *Blocks, at int64, answer string) {
	seq := s.Arrive(at)
	b.Accepted(seq, []byte(answer))
	s.Done(&load.Completion{Seq: seq, Intended: at, Sent: at, Done: monotonic.Now(), Status: load.OK, Success: true})
}

// A transaction is delivered when its block is announced, in whichever order the acceptance and
// the block arrive. Empty blocks are not read, and transactions of other clients are skipped.
func TestCommits(t *testing.T) {
	announce := make(chan string, 8)
	totals, err := followed(t, 1, announce, func(s *load.Shard, b *Blocks, start int64) {
		announce <- hashOf(1) + "," + hashOf(99) // sealed before the answer arrives
		announce <- ""
		answered(s, b, start, `{"id":1,"result":`+hashOf(1)+`}`)
		answered(s, b, start, `{"id":2,"result":`+hashOf(2)+`}`)
		answered(s, b, start, `{"accepted":[`+hashOf(3)+`]}`)
		announce <- hashOf(3) + "," + hashOf(2)
		close(announce)
	})
	if err != nil || totals.Delivered != 3 || totals.Undelivered != 0 || totals.Duplicates != 0 || totals.Delivery.Max <= 0 {
		t.Errorf("%v; delivered %d, undelivered %d, %+v", err, totals.Delivered, totals.Undelivered, totals.Delivery)
	}
}

// An array is delivered with its last transaction; its accepted transactions count.
func TestCommitsOfArrays(t *testing.T) {
	announce := make(chan string, 8)
	totals, err := followed(t, 3, announce, func(s *load.Shard, b *Blocks, start int64) {
		answered(s, b, start, `[{"result":`+hashOf(1)+`},{"result":`+hashOf(2)+`},{"error":{}}]`)
		announce <- hashOf(1)
		announce <- hashOf(2)
		close(announce)
	})
	if err != nil || totals.Delivered != 2 {
		t.Errorf("%v; %d of 2 accepted units were delivered", err, totals.Delivered)
	}
}

// Follow returns an error that says why if a node does not announce blocks, stops announcing
// them, or does not have a block that it announced.
func TestBadNodes(t *testing.T) {
	refusing := websockettest.Serve(t, func(p *websockettest.Peer) {
		p.Frame()
		io.WriteString(p, websockettest.Text(`{"id":0,"error":{"message":"notifications not supported"}}`))
	})
	if _, err := DialBlocks(t.Context(), refusing, nil); err == nil || !strings.Contains(err.Error(), "notifications not supported") {
		t.Errorf("%v", err)
	}
	for name, sent := range map[string]string{
		"EOF":              "",
		"does not have it": websockettest.Text(`{"method":"eth_subscription","params":{"result":{"hash":`+hashOf(1)+`}}}`) + websockettest.Text(`{"id":1,"result":null}`),
		"no block hash":    websockettest.Text(`{"method":"eth_subscription","params":{"result":{}}}`),
		"no id of a call":  websockettest.Text(`{"id":77,"result":{}}`),
		"not JSON":         websockettest.Text(`hello`),
	} {
		u := websockettest.Serve(t, func(p *websockettest.Peer) {
			p.Frame()
			io.WriteString(p, websockettest.Text(`{"id":0,"result":"0x1"}`)+sent)
			if name != "EOF" {
				p.Frame()
				p.Frame()
			}
		})
		b, err := DialBlocks(t.Context(), u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Follow(t.Context(), &load.Recorder{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
		b.Close()
	}
}

// Follow ends without an error when its context is done.
func TestFollowEnds(t *testing.T) {
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		p.Frame()
		io.WriteString(p, websockettest.Text(`{"id":0,"result":"0x1"}`))
		p.Frame()
	})
	b, err := DialBlocks(t.Context(), u, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Follow(ctx, &load.Recorder{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
