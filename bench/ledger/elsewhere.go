package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// failing is the share of requests that fail at one of two servers.
const failing = 0.1

// elsewhere measures how long after a failure at one server another one's answer has come.
func (b *bench) elsewhere(ctx context.Context, r *report) error {
	for round := range b.pairs {
		took, err := b.failures(ctx, uint64(round))
		if err != nil {
			return fmt.Errorf("failures: %w", err)
		}
		if len(took) > 0 {
			say("round %d of %d: %d failures, %v at most until the answer of another server", round+1, b.pairs, len(took), slices.Max(took).Round(time.Millisecond))
		}
		r.elsewhere = append(r.elsewhere, took...)
	}
	return nil
}

func (b *bench) failures(ctx context.Context, seed uint64) ([]time.Duration, error) {
	data, err := os.MkdirTemp(b.work, "data-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	w := newWitness(url(b.server))
	defer w.client.CloseIdleConnections()
	dice := rand.New(rand.NewPCG(seed, 1))
	good, bad := httptest.NewServer(w.front(nil)), httptest.NewServer(w.front(func() bool { return dice.Float64() < failing }))
	defer good.Close()
	defer bad.Close()
	n := min(b.ledgers, 1000)
	_, _, err = b.job(ctx, n, append(b.sync(data, "L2"), "--server", good.URL, "--server", bad.URL, "--from", strconv.Itoa(first), "--to", strconv.Itoa(first+n-1))...)
	waiting, took := w.account()
	if err == nil && waiting > 0 {
		err = fmt.Errorf("%d ledgers were never answered elsewhere", waiting)
	}
	return took, err
}

// witness stands before two servers and sees when a request fails at one, and when the same ledger was answered by
// either.
type witness struct {
	behind string
	client *http.Client
	mu     sync.Mutex
	failed map[uint32]time.Time
	done   map[uint32]bool // answered by either: what fails afterwards was asked of both at once
	took   []time.Duration
}

func newWitness(behind string) *witness {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	return &witness{behind: behind, client: client, failed: map[uint32]time.Time{}, done: map[uint32]bool{}}
}

// front is a server; fails, which is called under a lock, decides what fails: its connection ends without an answer.
func (w *witness) front(fails func() bool) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		index := readIndex(body)
		if index > 0 && fails != nil && w.fail(index, fails) {
			panic(http.ErrAbortHandler)
		}
		answer, err := w.forward(req, body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if index > 0 { // but for a moment: afterwards the client could be further than this account
			w.answered(index)
		}
		out.Header().Set("Content-Type", "application/json")
		out.Write(answer)
	})
}

// readIndex is the ledger whose transactions are asked for; 0: it is something else.
func readIndex(body []byte) uint32 {
	var call struct {
		Method string
		Params []struct {
			Index        any `json:"ledger_index"`
			Transactions bool
		}
	}
	if json.Unmarshal(body, &call) != nil || call.Method != "ledger" || len(call.Params) != 1 || !call.Params[0].Transactions {
		return 0
	}
	index, _ := call.Params[0].Index.(float64)
	return uint32(index)
}

func (w *witness) fail(index uint32, fails func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !fails() {
		return false
	}
	if _, again := w.failed[index]; !again && !w.done[index] {
		w.failed[index] = time.Now()
	}
	return true
}

func (w *witness) answered(index uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[index] = true
	if at, ok := w.failed[index]; ok {
		w.took = append(w.took, time.Since(at))
		delete(w.failed, index)
	}
}

// maxAnswer is far above the simulator's, in bytes.
const maxAnswer = 16 << 20

func (w *witness) forward(req *http.Request, body []byte) ([]byte, error) {
	ask, err := http.NewRequestWithContext(req.Context(), http.MethodPost, w.behind, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// account is how many ledgers nobody has answered since they failed, and how long it took for the others.
func (w *witness) account() (waiting int, took []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failed), slices.Clone(w.took)
}
