// Package sockets holds the lab's calls over WebSockets against services/chain/jsonrpc,
// which neither of them may import.
package sockets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	driver "dyno/lab/load/jsonrpc"
	"dyno/lab/record"
	"dyno/lab/workload"
	"dyno/services/chain/jsonrpc"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// Single calls and arrays, many in flight on few sockets: each is answered once, and one call in
// ten fails and is counted.
func TestDriverAgainstServer(t *testing.T) {
	for _, units := range []int{1, 20} {
		t.Run(fmt.Sprint(units, " units"), func(t *testing.T) {
			var calls atomic.Int64
			method := func(_ context.Context, params []byte) (any, error) {
				calls.Add(1)
				var n []int
				if err := json.Unmarshal(params, &n); err != nil {
					return nil, err
				}
				if n[0]%10 == 0 {
					return nil, errors.New("nonce too low")
				}
				return "0x1", nil
			}
			s := jsonrpc.NewServer(map[string]jsonrpc.Method{"m": method}, jsonrpc.Options{Codec: jsonrpc.Std{}})
			front := httptest.NewServer(s)
			defer front.Close()
			defer front.CloseClientConnections()
			const sockets, inFlight, requests = 3, 32, 500
			totals := drive(t, strings.Replace(front.URL, "http", "ws", 1), units, load.Plan{Connections: sockets, Length: time.Hour,
				Timeout: time.Hour, Count: requests, Units: units}, inFlight)
			if err := s.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			n := int64(requests * units)
			if calls.Load() != n || totals.Ended != n || totals.Failed != n/10 || totals.Errors["check"] != n/10 {
				t.Errorf("%d calls arrived, %d ended, %d failed: %v; want %d and %d", calls.Load(), totals.Ended, totals.Failed, totals.Errors, n, n/10)
			}
		})
	}
}

// drive sends numbered calls, each once.
func drive(t *testing.T, url string, units int, p load.Plan, inFlight int) record.Totals {
	t.Helper()
	var numbers strings.Builder
	numbers.WriteString("n\n")
	for i := range int(p.Count) * units {
		fmt.Fprintln(&numbers, i)
	}
	rows, err := corpus.ReadCSV(strings.NewReader(numbers.String()))
	if err != nil {
		t.Fatal(err)
	}
	body := workload.Body{Text: `{"jsonrpc":"2.0","id":"${id}","method":"m","params":[${row.n}]}`}
	if units > 1 {
		body = workload.Body{Text: `{"jsonrpc":"2.0","id":"${id}-${n}","method":"m","params":[${row.n}]}`, Copies: units, Array: true}
	}
	requests, err := corpus.Build(corpus.Spec{Rows: rows, Load: workload.Load{URL: url, Requests: []workload.Request{{Body: body}}, Once: true, Units: units}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.New(driver.Config{Target: url, Corpus: requests, InFlight: inFlight})
	if err != nil {
		t.Fatal(err)
	}
	totals, _, err := load.Run(t.Context(), p, d, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	return totals
}
