package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl"
)

// seen is what a client received for one request.
type seen struct {
	status int
	body   []byte
	err    error
}

// The effect of each fault over each transport. truth is the requested ledger.
var looks = map[fault.Kind]func(t *testing.T, http bool, got seen, truth *xrpl.Ledger){
	fault.Error: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if a := parse(t, got.body); got.status != 200 || a.Error == "" || a.Code == 0 || a.Status != "error" {
			t.Errorf("%d %s", got.status, got.body)
		}
	},
	fault.Unsynced: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if a := parse(t, got.body); got.status != 200 || a.Error != "noNetwork" || a.Code != 17 || a.Message != "InsufficientNetworkMode" {
			t.Errorf("%d %s", got.status, got.body)
		}
	},
	fault.Overloaded: func(t *testing.T, http bool, got seen, _ *xrpl.Ledger) {
		if http && (got.status != 503 || string(got.body) != "Server is overloaded") {
			t.Errorf("%d %s", got.status, got.body)
		}
		if !http && websocket.CloseStatus(got.err) != websocket.StatusPolicyViolation {
			t.Errorf("%v", got.err)
		}
	},
	fault.Empty:   wrongTransactions(func(n, of int) bool { return n == 0 }),
	fault.Partial: wrongTransactions(func(n, of int) bool { return n < of }),
	fault.Flip: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil {
			t.Fatal(err)
		}
		if n := differences(&a.Ledger, truth); n != 1 {
			t.Errorf("%d bytes differ", n)
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); err == nil {
			t.Error("it verifies")
		}
	},
	fault.Parent: relinked(func(h, truth *xrpl.Header) { h.Parent = truth.Parent }),
	fault.Fork:   relinked(func(h, truth *xrpl.Header) { h.Parent, h.State = truth.Parent, truth.State }),
	fault.Signature: func(t *testing.T, http bool, got seen, truth *xrpl.Ledger) {
		relinked(func(h, truth *xrpl.Header) { h.Transactions = truth.Transactions })(t, http, got, truth)
		a, _ := decode(t, got.body)
		n, err := signing.Verify(&a.Ledger, signing.Pure{})
		if !errors.Is(err, signing.ErrSignature) {
			t.Errorf("%d signatures, %v", n, err)
		}
	},
	fault.Other: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); err != nil || a.Index != truth.Index+1 && a.Index != truth.Index-1 {
			t.Errorf("asked for %d, got %d: %v", truth.Index, a.Index, err)
		}
	},
	fault.Latency: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil || a.Hash != truth.Hash {
			t.Errorf("late and wrong: %v", err)
		}
	},
	fault.Stall: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if got.err == nil {
			t.Errorf("it answers %.100s", got.body)
		}
	},
	fault.Cut: func(t *testing.T, http bool, got seen, _ *xrpl.Ledger) {
		if got.err == nil || http && !errors.Is(got.err, io.ErrUnexpectedEOF) || http && len(got.body) == 0 {
			t.Errorf("%d bytes, %v", len(got.body), got.err)
		}
	},
	fault.Forged: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil || a.Hash != truth.Hash {
			t.Fatal(err)
		}
		if _, err := signing.Verify(&a.Ledger, signing.Pure{}); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("signatures: %v", err)
		}
	},
}

// wrongTransactions checks an answer whose header is right and which has too few transactions.
func wrongTransactions(few func(n, of int) bool) func(*testing.T, bool, seen, *xrpl.Ledger) {
	return func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(got.body, []byte(`"success"`)) || !bytes.Equal(a.Header, truth.Header) || !few(len(a.Transactions), len(truth.Transactions)) {
			t.Errorf("%d of %d transactions", len(a.Transactions), len(truth.Transactions))
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); !errors.Is(err, xrpl.ErrRoot) {
			t.Errorf("it verifies: %v", err)
		}
	}
}

// relinked checks an answer that is consistent in itself (L1) and is another ledger. restore makes
// the header the true one again.
func relinked(restore func(h, truth *xrpl.Header)) func(*testing.T, bool, seen, *xrpl.Ledger) {
	return func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil {
			t.Fatal(err)
		}
		h, err := xrpl.NewVerifier().Ledger(&a.Ledger)
		if err != nil || a.Hash == truth.Hash || a.Index != truth.Index {
			t.Fatalf("%v, hash %v", err, a.Hash)
		}
		was, _ := xrpl.ParseHeader(truth.Header)
		if restore(&h, &was); h != was {
			t.Errorf("more differs than should: %+v, %+v", h, was)
		}
	}
}

// differences counts the bytes that differ.
func differences(a, b *xrpl.Ledger) (n int) {
	count := func(a, b []byte) {
		for i := range b {
			if a[i] != b[i] {
				n++
			}
		}
	}
	count(a.Header, b.Header)
	for i := range b.Transactions {
		count(a.Transactions[i].Blob, b.Transactions[i].Blob)
		count(a.Transactions[i].Meta, b.Transactions[i].Meta)
	}
	return n
}

// Every kind has its documented effect, over both transports, and is counted each time it is sent.
func TestFaultsAreWhatTheySay(t *testing.T) {
	honest := newChain(t, chain.Spec{Ledgers: 6, Transactions: 5})
	forged := newChain(t, chain.Spec{Ledgers: 6, Transactions: 5, Forged: 1})
	for _, kind := range fault.Kinds() {
		if kind == fault.Dead {
			continue
		}
		for _, transport := range []string{"http", "ws"} {
			t.Run(fmt.Sprint(kind, "/", transport), func(t *testing.T) {
				c := Config{Chain: honest, Faults: fault.Rates{kind: 1}, StallFor: time.Millisecond}
				if kind == fault.Forged {
					c.Chain = forged
				}
				s := start(t, c)
				for i := range uint32(6) {
					tryFault(t, s, kind, transport, chain.DefaultFirst+i)
				}
				until(t, func() error { // a client cannot wait for a stall
					got := s.Injected()
					if c := got.Faults[kind]; c.Sent != 6 || len(c.Ledgers) != 6 || len(got.Faults) != 1 {
						return fmt.Errorf("injected: %+v", got)
					}
					return nil
				})
			})
		}
	}
}

func tryFault(t *testing.T, s *Sim, kind fault.Kind, transport string, index uint32) {
	truth := ledger(t, s.Chain(), index)
	var from caller = overHTTP(t, s)
	if transport == "ws" {
		from = overSocket(t, s)
	}
	if transport == "ws" && kind == fault.Stall {
		silent(t, from.(dialled), full(index, 1))
		return
	}
	var got seen
	got.status, got.body, got.err = from.call("ledger", full(index, 1))
	if got.err != nil && kind != fault.Stall && kind != fault.Cut && kind != fault.Overloaded {
		t.Fatal(got.err)
	}
	looks[kind](t, transport == "http", got, truth)
}

// silent checks that a request gets no answer over a live connection: a ping sent after it does.
func silent(t *testing.T, d dialled, params string) {
	t.Helper()
	ctx := t.Context()
	if err := d.conn.Write(ctx, websocket.MessageText, []byte(`{"id":1,"command":"ledger",`+params+`}`)); err != nil {
		t.Fatal(err)
	}
	if _, body, err := d.call("ping", ""); err != nil || !bytes.Contains(body, []byte(`"id":"a1"`)) {
		t.Errorf("%s, %v", body, err)
	}
}

// A dead connection is accepted and then silent, without pongs. So the client must give up on its
// own: here immediately after the write.
func TestDeadConnections(t *testing.T) {
	s := start(t, small(Config{Faults: fault.Rates{fault.Dead: 0.5}, FaultSeed: 3}))
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead := 0
	for number := range uint32(20) {
		d := overSocket(t, s)
		if !s.dice.Happens(fault.Dead, uint64(number+1), 0) {
			if _, _, err := d.call("ping", ""); err != nil {
				t.Errorf("connection %d: %v", number+1, err)
			}
			continue
		}
		dead++
		if err := d.conn.Write(t.Context(), websocket.MessageText, []byte(`{"command":"ping"}`)); err != nil {
			t.Errorf("connection %d accepts no bytes: %v", number+1, err)
		}
	}
	if c := s.Injected().Faults[fault.Dead]; dead == 0 || dead == 20 || c.Sent != int64(dead) {
		t.Errorf("%d connections of 20 are dead; injected %+v", dead, c)
	}
}

// Some faults are impossible for a ledger without transactions or neighbours. The answer is right
// then, and none is counted.
func TestFaultsThatCannotBe(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Empty, fault.Partial, fault.Signature, fault.Other} {
		s := start(t, Config{Spec: chain.Spec{Ledgers: 1, Transactions: -1}, Faults: fault.Rates{kind: 1}})
		a, err := fetch(t, overHTTP(t, s), full(chain.DefaultFirst, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); err != nil || len(s.Injected().Faults) != 0 {
			t.Errorf("%s: %v, injected %v", kind, err, s.Injected().Faults)
		}
	}
}
