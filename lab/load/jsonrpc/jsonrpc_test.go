package jsonrpc

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const hour = time.Hour // longer than any test

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// calls is a corpus of one call, or of an array of n.
func calls(n int) *corpus.Corpus {
	const one = `{"jsonrpc":"2.0","id":"0000000000000000","method":"m"}`
	r := corpus.Request{Body: []byte(one), IDs: []int{strings.Index(one, "0000")}}
	if n > 0 {
		r = corpus.Request{Body: []byte("[")}
		for i := range n {
			member := fmt.Sprintf(`{"jsonrpc":"2.0","id":"0000000000000000-%d","method":"m"},`, i)
			r.IDs = append(r.IDs, len(r.Body)+strings.Index(member, "0000"))
			r.Body = append(r.Body, member...)
		}
		r.Body[len(r.Body)-1] = ']'
	}
	return &corpus.Corpus{Requests: []corpus.Request{r}, Classes: make([]corpus.Class, 1), Units: n}
}

// burst is a plan of n requests that are all due when the run starts.
func burst(n, sockets int) load.Plan {
	at := make([]int64, n)
	return load.Plan{Schedule: func() load.Schedule { return load.Times(at) }, Connections: sockets,
		Length: record.WindowLength, Drain: hour, Timeout: hour}
}

func drive(t *testing.T, p load.Plan, c Config) record.Totals {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	totals, _, err := load.Run(t.Context(), p, d, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	if totals.Offered != totals.Ended+totals.Unfinished {
		t.Errorf("offered %d, ended %d, unfinished %d", totals.Offered, totals.Ended, totals.Unfinished)
	}
	return totals
}

func idOf(call []byte) string {
	_, rest, _ := strings.Cut(string(call), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// The server answers in another order than it was asked: each answer ends its own call, and
// answers with an error count as errors.
func TestAnswersAreMatchedInAnyOrder(t *testing.T) {
	const sockets, inFlight, many = 1, 8, 64 // with two sockets, each could have fewer calls than the server waits for
	var mu sync.Mutex
	seen := map[string]int{}
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		var waiting []string
		for {
			_, call, err := p.Frame()
			if err != nil {
				return
			}
			mu.Lock()
			seen[idOf(call)]++
			mu.Unlock()
			if waiting = append(waiting, idOf(call)); len(waiting) < inFlight {
				continue
			}
			rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
			for i, id := range waiting {
				io.WriteString(p, websockettest.Text(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1"}}`))
				outcome := `"result":"0x1"`
				if i == 0 {
					outcome = `"error":{"code":-32000,"message":"nonce too low"}`
				}
				io.WriteString(p, websockettest.Text(`{"jsonrpc":"2.0","id":"`+id+`",`+outcome+`}`))
			}
			waiting = waiting[:0]
		}
	})
	var accepted sync.Map
	requests := calls(0)
	requests.Accepted = func(seq uint64, answer []byte) {
		if idOf(answer) != fmt.Sprintf("%016x", seq) {
			t.Errorf("call %x was answered by %s", seq, answer)
		}
		accepted.Store(seq, true)
	}
	totals := drive(t, burst(many, sockets), Config{Target: u.String(), Corpus: requests, InFlight: inFlight})
	if totals.Offered != many || totals.Failed != many/inFlight || totals.Errors["check"] != many/inFlight {
		t.Errorf("offered %d, failed %d: %v", totals.Offered, totals.Failed, totals.Errors)
	}
	if len(seen) != many {
		t.Errorf("%d ids in %d calls", len(seen), many)
	}
	n := 0
	accepted.Range(func(any, any) bool { n++; return true })
	if n != many-many/inFlight {
		t.Errorf("%d calls were accepted", n)
	}
}

// Arrays are matched by any of their ids, and fail member by member.
func TestArrays(t *testing.T) {
	const many, units = 12, 3
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		for {
			_, call, err := p.Frame()
			if err != nil {
				return
			}
			id := idOf(call)[:corpus.IDLength]
			io.WriteString(p, websockettest.Text(`[{"id":"`+id+`-1","result":1},{"error":{},"id":"`+id+`-0"},{"result":null,"id":"`+id+`-2"}]`))
		}
	})
	totals := drive(t, burst(many, 1), Config{Target: u.String(), Corpus: calls(units), InFlight: 4})
	if totals.Ended != many || totals.Failed != many {
		t.Errorf("the plan counts requests: ended %d, failed %d", totals.Ended, totals.Failed)
	}
	p := burst(many, 1)
	p.Units = units
	if totals = drive(t, p, Config{Target: u.String(), Corpus: calls(units), InFlight: 4}); totals.Ended != many*units || totals.Failed != many {
		t.Errorf("ended %d, failed %d of %d units", totals.Ended, totals.Failed, many*units)
	}
}

// A server's mistake ends the calls of that socket only, each with the matching kind of error,
// and a new connection replaces the socket's.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		closes     bool
		timeout    time.Duration
		want       string
	}{
		{"closed", "", true, hour, "closed"},
		{"a close frame", "\x88\x02\x03\xe9", true, hour, "closed"},
		{"cut off", "\x81\x05hi", true, hour, "closed"},
		{"no frame", "\xff\xff", true, hour, "malformed"},
		{"silent", "", false, 20 * time.Millisecond, "timeout"},
		{"another id", websockettest.Text(`{"id":"00000000ffffffff","result":1}`), false, 20 * time.Millisecond, "timeout"},
		{"an id of another form", websockettest.Text(`{"id":5,"result":1}`), false, 20 * time.Millisecond, "timeout"},
		{"an error without an id", websockettest.Text(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`), false, hour, "check"},
		{"no JSON", websockettest.Text(`hello`), false, hour, "check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const many = 4
			u := websockettest.Serve(t, func(p *websockettest.Peer) {
				for {
					if _, _, err := p.Frame(); err != nil {
						return
					}
					io.WriteString(p, c.sent)
					if c.closes {
						return
					}
				}
			})
			plan := burst(many, 1)
			plan.Timeout = c.timeout
			totals := drive(t, plan, Config{Target: u.String(), Corpus: calls(0)})
			if totals.Errors[c.want] != many && !(c.closes && totals.Errors[c.want]+totals.Errors["reset"] == many) {
				t.Errorf("%v, want %d times %s", totals.Errors, many, c.want)
			}
		})
	}
}

// Calls go over TLS; a server that the client does not trust receives none.
func TestTLS(t *testing.T) {
	u, authorities := websockettest.ServeTLS(t, func(p *websockettest.Peer) {
		for {
			_, call, err := p.Frame()
			if err != nil {
				return
			}
			io.WriteString(p, websockettest.Text(`{"id":"`+idOf(call)+`","result":1}`))
		}
	})
	trusting := &tls.Config{RootCAs: authorities, ServerName: u.Hostname()}
	if totals := drive(t, burst(20, 2), Config{Target: u.String(), Corpus: calls(0), InFlight: 3, TLS: trusting}); totals.Failed != 0 || totals.Ended != 20 {
		t.Errorf("ended %d, failed %d: %v", totals.Ended, totals.Failed, totals.Errors)
	}
	if totals := drive(t, burst(3, 1), Config{Target: u.String(), Corpus: calls(0), TLS: &tls.Config{ServerName: u.Hostname()}}); totals.Failed != 3 {
		t.Errorf("without the authority: failed %d: %v", totals.Failed, totals.Errors)
	}
}

// Without a check of its own, each class fails by the errors of its calls: single or in an array.
func TestClassesWithoutACheck(t *testing.T) {
	requests := calls(0)
	requests.Requests = append(requests.Requests, calls(2).Requests[0])
	requests.Requests[1].Class, requests.Classes = 1, make([]corpus.Class, 2)
	if _, err := New(Config{Target: "ws://127.0.0.1/", Corpus: requests}); err != nil {
		t.Fatal(err)
	}
	for class, answer := range []string{`{"error":1}`, `[{"result":1},{"error":1}]`} {
		if check := &requests.Classes[class].Check; check.Failures(nil, []byte(answer), 1) != 1 {
			t.Errorf("class %d: %s counts as a success", class, answer)
		}
	}
	d, err := New(Config{Target: "ws://127.0.0.1:1/", Corpus: calls(0), InFlight: maxInFlight})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := load.Run(t.Context(), load.Plan{Connections: 100_000, Length: time.Second}, d, nowhere{}); err == nil || !strings.Contains(err.Error(), "lower connections or pipeline") {
		t.Errorf("too many in flight: %v", err)
	}
}

func TestRefused(t *testing.T) {
	d, err := New(Config{Target: "ws://127.0.0.1:1/", Corpus: calls(0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Try(t.Context()); err == nil {
		t.Error("nothing listens there")
	}
	totals := drive(t, burst(3, 2), Config{Target: "ws://127.0.0.1:1/", Corpus: calls(0), InFlight: 4})
	if totals.Errors["refused"] != 3 {
		t.Errorf("%v", totals.Errors)
	}
}

func TestNewRefuses(t *testing.T) {
	noID := calls(0)
	noID.Requests[0].IDs = nil
	for name, c := range map[string]Config{
		"http":      {Target: "http://127.0.0.1/", Corpus: calls(0)},
		"${id}":     {Target: "ws://127.0.0.1/", Corpus: noID},
		"in flight": {Target: "ws://127.0.0.1/", Corpus: calls(0), InFlight: 1 << 20},
		"empty":     {Target: "ws://127.0.0.1/"},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The closed model keeps the allowed number of calls in flight until it has made all of its
// count.
func TestClosedModel(t *testing.T) {
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		for {
			_, call, err := p.Frame()
			if err != nil {
				return
			}
			io.WriteString(p, websockettest.Text(`{"id":"`+idOf(call)+`","result":1}`))
		}
	})
	p := load.Plan{Connections: 2, Length: hour, Timeout: hour, Count: 100}
	if totals := drive(t, p, Config{Target: u.String(), Corpus: calls(0), InFlight: 5}); totals.Ended != 100 || totals.Failed != 0 {
		t.Errorf("ended %d, failed %d: %v", totals.Ended, totals.Failed, totals.Errors)
	}
}
