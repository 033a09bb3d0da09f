package backfill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// asks is a request for a ledger.
type asks struct {
	index        uint32
	byHash       bool
	transactions bool
}

// what a server does with such a request.
type does int

const (
	gives   does = iota
	denies       // lgrNotFound
	refuses      // HTTP 400
	bares        // the ledger without its transactions
)

// behind starts a server in front of another, that does with requests for ledgers what a function
// says.
func (w *world) behind(t testing.TB, url string, do func(asks) does) string {
	indexes := map[string]uint32{}
	for index, l := range w.truth {
		indexes[l.Hash.String()] = index
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body) // cut off, it is no JSON
		var q struct {
			Method string
			Params []struct {
				Index        uint32 `json:"ledger_index"`
				Hash         string `json:"ledger_hash"`
				Transactions bool
			}
		}
		if err := json.Unmarshal(question, &q); err != nil {
			t.Errorf("%v: %s", err, question)
		}
		what := gives
		if q.Method == "ledger" {
			p := q.Params[0]
			a := asks{p.Index, p.Hash != "", p.Transactions}
			if a.byHash {
				a.index = indexes[p.Hash]
			}
			what = do(a)
		}
		rw.Header().Set("Content-Type", "application/json")
		switch what {
		case denies:
			io.WriteString(rw, `{"result":{"error":"lgrNotFound","error_code":21,"error_message":"ledgerNotFound","status":"error"}}`)
			return
		case refuses:
			http.Error(rw, "no", http.StatusBadRequest)
			return
		case bares:
			question = bytes.Replace(question, []byte(`"expand":true`), []byte(`"expand":true,"limit":0`), 1)
			question = bytes.Replace(question, []byte(`"transactions":true`), []byte(`"transactions":false`), 1)
		}
		resp, err := http.Post(url, "application/json", bytes.NewReader(question))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		if what == bares {
			answer = bytes.Replace(answer, []byte(`"ledger":{`), []byte(`"ledger":{"transactions":[],`), 1)
		}
		rw.WriteHeader(resp.StatusCode)
		rw.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// poolOf opens servers by their addresses.
func poolOf(t testing.TB, urls ...string) *servers.Pool {
	t.Helper()
	var c servers.PoolConfig
	for _, url := range urls {
		server, err := servers.Open(t.Context(), servers.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		c.Servers = append(c.Servers, server)
	}
	p := servers.NewPool(c)
	t.Cleanup(p.Close)
	if err := p.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// What one server does not give in one way never costs more than that ledger, where there is
// another way.
func TestOtherWays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.server(t, sim.Config{}).URL()
	several := []uint32{last - 3, last - 9, last - 10, last - 11, first + 2}
	// hidden: the ledgers are found by their hashes only.
	hidden := func(indexes ...uint32) func(asks) does {
		return func(a asks) does {
			if !a.byHash && slices.Contains(indexes, a.index) {
				return denies
			}
			return gives
		}
	}
	// pruned: their transactions are missing, in the way of a server, and what is done with their
	// headers depends on the way of asking.
	pruned := func(way does, header func(asks) does, indexes ...uint32) func(asks) does {
		return func(a asks) does {
			switch {
			case !slices.Contains(indexes, a.index):
				return gives
			case a.transactions:
				return way
			}
			return header(a)
		}
	}
	always := func(asks) does { return gives }
	onlyByHash := func(a asks) does {
		if a.byHash {
			return gives
		}
		return denies
	}
	onlyByIndex := func(a asks) does {
		if a.byHash {
			return denies
		}
		return gives
	}
	never := func(asks) does { return denies }
	down := history.Range{From: first, To: last - 8}
	for _, c := range []struct {
		name    string
		servers []func(asks) does
		missing []uint32       // L2 and above: ledgers that alone are missing
		below   *history.Range // L2 and above: what is missing because no header leads there
		plain   []uint32       // L1: missing ledgers; nil: as missing
	}{
		{"hidden in the middle", []func(asks) does{hidden(last - 8)}, nil, nil, nil},
		{"hidden at the top", []func(asks) does{hidden(last)}, nil, nil, []uint32{last}}, // L1 has no hash for it
		{"hidden at the bottom", []func(asks) does{hidden(first)}, nil, nil, nil},
		{"several hidden", []func(asks) does{hidden(several...)}, nil, nil, nil},
		{"refused by the index", []func(asks) does{func(a asks) does {
			if !a.byHash && a.index == last-8 {
				return refuses
			}
			return gives
		}}, nil, nil, nil},
		{"without transactions", []func(asks) does{pruned(bares, always, last-8)}, []uint32{last - 8}, nil, nil},
		{"the top without transactions", []func(asks) does{pruned(bares, always, last)}, []uint32{last}, nil, nil},
		{"several without transactions", []func(asks) does{pruned(bares, always, several...)}, several, nil, nil},
		{"transactions not found", []func(asks) does{pruned(denies, always, several...)}, several, nil, nil},
		{"a header by the hash", []func(asks) does{pruned(denies, onlyByHash, last-8)}, []uint32{last - 8}, nil, nil},
		{"a header by the index", []func(asks) does{pruned(denies, onlyByIndex, last-8)}, []uint32{last - 8}, nil, nil},
		{"no header", []func(asks) does{pruned(denies, never, last-8)}, nil, &down, []uint32{last - 8}},
		{"one lacks transactions, one hides it", []func(asks) does{pruned(bares, always, last-8), hidden(last - 8)}, nil, nil, nil},
		{"one denies it, one has the header", []func(asks) does{pruned(denies, never, last-8), pruned(denies, always, last-8)}, []uint32{last - 8}, nil, nil},
	} {
		for _, level := range []trust.Level{trust.L1, trust.L2} {
			for _, size := range []int{1, 16} {
				t.Run(fmt.Sprintf("%s, %v, shards of %d", c.name, level, size), func(t *testing.T) {
					t.Parallel()
					var urls []string
					for _, do := range c.servers {
						urls = append(urls, w.behind(t, server, do))
					}
					var k keeper
					config := w.config(poolOf(t, urls...), &k)
					config.Level, config.Shards.Size, config.Attempts = level, size, 2*len(urls)
					err := Run(t.Context(), config, all)
					alone, below := c.missing, c.below
					if level < trust.L2 {
						below = nil
						if c.plain != nil {
							alone = c.plain
						}
					}
					want := history.Set{all}
					for _, index := range alone {
						want = want.Without(history.Set{{From: index, To: index}})
					}
					if below != nil {
						want = want.Without(history.Set{*below})
					}
					if gaps := err != nil; gaps != (want.Len() < ledgers) {
						t.Errorf("%v", err)
					}
					k.holds(t, w, want...)
				})
			}
		}
	}
}

// Headers that lead down to a range are found by their hashes, too.
func TestHeadersAboveByHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.behind(t, w.server(t, sim.Config{}).URL(), func(a asks) does {
		if !a.byHash && a.index == last-2 {
			return denies
		}
		return gives
	})
	var k keeper
	c := w.config(poolOf(t, url), &k)
	c.Attempts = 2
	gap := history.Range{From: first, To: last - 5}
	if err := Run(t.Context(), c, gap); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, gap)
}

// A header that a server made up leads nowhere, and is that server's fault.
func TestFalseHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const missing, other = last - 8, last - 12
	url := w.server(t, sim.Config{}).URL()
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		if bytes.Contains(question, []byte(`"transactions"`)) && bytes.Contains(question, fmt.Appendf(nil, `"ledger_index":%d`, missing)) {
			io.WriteString(rw, `{"result":{"error":"lgrNotFound","error_code":21,"status":"error"}}`)
			return
		}
		for _, name := range []string{fmt.Sprintf(`"ledger_index":%d`, missing), fmt.Sprintf(`"ledger_hash":"%v"`, w.truth[missing].Hash)} {
			question = bytes.Replace(question, []byte(name), fmt.Appendf(nil, `"ledger_index":%d`, other), 1)
		}
		resp, err := http.Post(url, "application/json", bytes.NewReader(question))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		io.Copy(rw, resp.Body)
	}))
	defer proxy.Close()
	p := poolOf(t, proxy.URL)
	var k keeper
	c := w.config(p, &k)
	c.Attempts = 2
	if err := Run(t.Context(), c, all); err == nil {
		t.Error("a range with a false header is whole")
	}
	k.holds(t, w, history.Range{From: missing + 1, To: last})
	if len(blames(p)) == 0 {
		t.Error("no fault is recorded")
	}
}

// The parent of the range's lowest ledger is compared also where that ledger is missing.
func TestBelowAMissingLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.behind(t, w.server(t, sim.Config{}).URL(), func(a asks) does {
		if a.index == first+5 && a.transactions {
			return denies
		}
		return gives
	})
	gap := history.Range{From: first + 5, To: last}
	for _, hash := range []xrpl.Hash{w.truth[first+4].Hash, {1}} {
		var k keeper
		c := w.config(poolOf(t, url), &k)
		c.Attempts, c.Below = 2, Trusted{first + 4, hash}
		err := Run(t.Context(), c, gap)
		var m *Mismatch
		if fits := hash == w.truth[first+4].Hash; missing(err)[gap.From] == nil || errors.As(err, &m) == fits {
			t.Errorf("%v: %v", hash, err)
		}
		k.holds(t, w, history.Range{From: gap.From + 1, To: last})
	}
}

// A ledger that no server claims is asked for by its hash all the same.
func TestUnclaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const unclaimed = last - 6
	url := w.server(t, sim.Config{}).URL()
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		resp, err := http.Post(url, "application/json", bytes.NewReader(question))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		rw.Write(bytes.Replace(answer, fmt.Appendf(nil, "%d-%d", first, last), fmt.Appendf(nil, "%d-%d,%d-%d", first, unclaimed-1, unclaimed+1, last), 1))
	}))
	defer proxy.Close()
	var k keeper
	p := poolOf(t, proxy.URL)
	if err := Run(t.Context(), w.config(p, &k), all); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, all)
	if p.Report()[0].Complete.Has(unclaimed) {
		t.Error("the server claims it")
	}
}
