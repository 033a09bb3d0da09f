package ledgertest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Relay stands before a server and sees every request over HTTP, so that a test can count them and
// stop the world at a ledger of its choice. WebSockets pass it as they are.
type Relay struct {
	URL    string
	behind string
	tunnel *httputil.ReverseProxy
	client *http.Client
	closed chan struct{}

	mu      sync.Mutex
	traffic Traffic
	gate    func(Ask) Verdict
	told    chan struct{} // closed when something was answered
}

// Traffic counts, by ledger, requests for its transactions.
type Traffic struct {
	Asked, Answered map[uint32]int // the latter were handed to the client whole
}

// Again is how many answers were to questions that had been answered before.
func (t Traffic) Again() (n int) {
	for _, times := range t.Answered {
		n += times - 1
	}
	return n
}

func newTraffic() Traffic { return Traffic{map[uint32]int{}, map[uint32]int{}} }

// Ask is a request.
type Ask struct {
	Index uint32 // of the ledger; 0: it asks for something else, or by Hash
	Hash  string // of the ledger; "": it asks by Index
	Whole bool   // with its transactions
}

// Verdict is what becomes of a request.
type Verdict int

// Verdicts.
const (
	Pass  Verdict = iota
	Hang          // until the relay is closed, or the client gives up
	Cut           // the connection ends, without an answer
	Lacks         // lgrNotFound
)

// NewRelay starts a relay, which ends with the test.
func NewRelay(t testing.TB, behind string) *Relay {
	r := &Relay{behind: behind, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		closed: make(chan struct{}), traffic: newTraffic(), told: make(chan struct{})}
	to, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	r.tunnel = &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, Transport: r.client.Transport}
	web := httptest.NewServer(r)
	r.URL = web.URL
	t.Cleanup(func() {
		close(r.closed)
		web.CloseClientConnections()
		web.Close()
		r.client.CloseIdleConnections()
	})
	return r
}

// Decide sets what becomes of requests from now on; nil lets all pass. The gate may be called by
// many goroutines.
func (r *Relay) Decide(gate func(Ask) Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = gate
}

// Traffic returns what was asked and answered since the last call.
func (r *Relay) Traffic() Traffic {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.traffic
	r.traffic = newTraffic()
	return out
}

// Await returns when what was asked and answered since the last call of Traffic is enough.
func (r *Relay) Await(t testing.TB, what string, enough func(Traffic) bool) {
	t.Helper()
	r.AwaitOr(t, nil, what, enough)
}

// AwaitOr returns also when a channel is closed.
func (r *Relay) AwaitOr(t testing.TB, other <-chan struct{}, what string, enough func(Traffic) bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		done, told := enough(r.traffic), r.told
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-told:
		case <-other:
			return
		case <-limit.C:
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

const lgrNotFound = `{"result":{"error":"lgrNotFound","error_code":21,"error_message":"ledgerNotFound","status":"error","request":{}}}`

func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Header.Get("Upgrade") != "" {
		r.tunnel.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		return
	}
	a := readAsk(body)
	r.count(a, func(t Traffic) map[uint32]int { return t.Asked })
	r.mu.Lock()
	gate, v := r.gate, Pass
	r.mu.Unlock()
	if gate != nil {
		v = gate(a)
	}
	switch v {
	case Hang:
		select {
		case <-r.closed:
		case <-req.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Cut:
		panic(http.ErrAbortHandler)
	case Lacks:
		io.WriteString(w, lgrNotFound)
		return
	}
	r.forward(w, req, body)
	r.count(a, func(t Traffic) map[uint32]int { return t.Answered })
}

func readAsk(body []byte) (a Ask) {
	var call struct {
		Method string
		Params []struct {
			Index        any    `json:"ledger_index"`
			Hash         string `json:"ledger_hash"`
			Transactions bool
		}
	}
	if json.Unmarshal(body, &call) == nil && call.Method == "ledger" && len(call.Params) == 1 {
		index, _ := call.Params[0].Index.(float64)
		a.Index, a.Hash, a.Whole = uint32(index), call.Params[0].Hash, call.Params[0].Transactions
	}
	return a
}

func (r *Relay) count(a Ask, column func(Traffic) map[uint32]int) {
	if a.Index == 0 || !a.Whole {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	column(r.traffic)[a.Index]++
	close(r.told)
	r.told = make(chan struct{})
}

// forward passes an answer on as it is: cut in the middle if it was. It does not return when the
// client has gone.
func (r *Relay) forward(w http.ResponseWriter, req *http.Request, body []byte) {
	out, err := http.NewRequestWithContext(req.Context(), req.Method, r.behind, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header.Set("Content-Type", req.Header.Get("Content-Type"))
	resp, err := r.client.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	http.NewResponseController(w).Flush()
}
