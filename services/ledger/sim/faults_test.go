package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dyno/parts/xrpl"
)

// seen is what a client received for one request.
type seen struct {
	status int
	body   []byte
	err    error
}

// The effect of each fault over each transport. truth is the requested ledger.
var looks = map[Kind]func(t *testing.T, http bool, got seen, truth *xrpl.Ledger){
	Error: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if a := parse(t, got.body); got.status != 200 || a.Error == "" || a.Code == 0 || a.Status != "error" {
			t.Errorf("%d %s", got.status, got.body)
		}
	},
	Unsynced: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if a := parse(t, got.body); got.status != 200 || a.Error != "noNetwork" || a.Code != 17 || a.Message != "InsufficientNetworkMode" {
			t.Errorf("%d %s", got.status, got.body)
		}
	},
	Overloaded: func(t *testing.T, http bool, got seen, _ *xrpl.Ledger) {
		if http && (got.status != 503 || string(got.body) != "Server is overloaded") {
			t.Errorf("%d %s", got.status, got.body)
		}
		if !http && websocket.CloseStatus(got.err) != websocket.StatusPolicyViolation {
			t.Errorf("%v", got.err)
		}
	},
	Empty:   wrongTransactions(func(n, of int) bool { return n == 0 }),
	Partial: wrongTransactions(func(n, of int) bool { return n < of }),
	Flip: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
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
	Parent: relinked(func(h, truth *xrpl.Header) { h.Parent = truth.Parent }),
	Fork:   relinked(func(h, truth *xrpl.Header) { h.Parent, h.State = truth.Parent, truth.State }),
	Signature: func(t *testing.T, http bool, got seen, truth *xrpl.Ledger) {
		relinked(func(h, truth *xrpl.Header) { h.Transactions = truth.Transactions })(t, http, got, truth)
		a, _ := decode(t, got.body)
		n, err := xrpl.NewVerifier().Signatures(&a.Ledger, xrpl.Pure{})
		if !errors.Is(err, xrpl.ErrSignature) {
			t.Errorf("%d signatures, %v", n, err)
		}
	},
	Other: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); err != nil || a.Index != truth.Index+1 && a.Index != truth.Index-1 {
			t.Errorf("asked for %d, got %d: %v", truth.Index, a.Index, err)
		}
	},
	Latency: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil || a.Hash != truth.Hash {
			t.Errorf("late and wrong: %v", err)
		}
	},
	Stall: func(t *testing.T, _ bool, got seen, _ *xrpl.Ledger) {
		if got.err == nil {
			t.Errorf("it answers %.100s", got.body)
		}
	},
	Cut: func(t *testing.T, http bool, got seen, _ *xrpl.Ledger) {
		if got.err == nil || http && !errors.Is(got.err, io.ErrUnexpectedEOF) || http && len(got.body) == 0 {
			t.Errorf("%d bytes, %v", len(got.body), got.err)
		}
	},
	Forged: func(t *testing.T, _ bool, got seen, truth *xrpl.Ledger) {
		a, err := decode(t, got.body)
		if err != nil || a.Hash != truth.Hash {
			t.Fatal(err)
		}
		if _, err := xrpl.NewVerifier().Signatures(&a.Ledger, xrpl.Pure{}); !errors.Is(err, xrpl.ErrSignature) {
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
	honest := newChain(t, ChainConfig{Ledgers: 6, Transactions: 5})
	forged := newChain(t, ChainConfig{Ledgers: 6, Transactions: 5, Forged: 1})
	for _, kind := range Kinds() {
		if kind == Dead {
			continue
		}
		for _, transport := range []string{"http", "ws"} {
			t.Run(fmt.Sprint(kind, "/", transport), func(t *testing.T) {
				c := Config{Chain: honest, Faults: Rates{kind: 1}, StallFor: time.Millisecond}
				if kind == Forged {
					c.Chain = forged
				}
				s := start(t, c)
				for i := range uint32(6) {
					tryFault(t, s, kind, transport, DefaultFirst+i)
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

func tryFault(t *testing.T, s *Sim, kind Kind, transport string, index uint32) {
	truth := ledger(t, s.Chain(), index)
	var from caller = overHTTP(t, s)
	if transport == "ws" {
		from = overSocket(t, s)
	}
	if transport == "ws" && kind == Stall {
		silent(t, from.(dialled), full(index, 1))
		return
	}
	var got seen
	got.status, got.body, got.err = from.call("ledger", full(index, 1))
	if got.err != nil && kind != Stall && kind != Cut && kind != Overloaded {
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
	s := start(t, small(Config{Faults: Rates{Dead: 0.5}, FaultSeed: 3}))
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead := 0
	for number := range uint32(20) {
		d := overSocket(t, s)
		if !s.dice.happens(Dead, uint64(number+1), 0) {
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
	if c := s.Injected().Faults[Dead]; dead == 0 || dead == 20 || c.Sent != int64(dead) {
		t.Errorf("%d connections of 20 are dead; injected %+v", dead, c)
	}
}

// Faults occur at their rates, and the same ones in whatever order they are drawn.
func TestDiceAreFairAndRepeat(t *testing.T) {
	rates := Rates{Flip: 0.1, Cut: 0.05, Error: 0.2, Latency: 0.01, Forged: 0.5, Dead: 0.5}
	d := dice{seed: 9, rates: rates}
	const n, attempts = 20_000, 2
	count := map[Kind]int{}
	var forward, backward []Kind
	for i := range uint32(n) {
		for attempt := range uint32(attempts) {
			kind := d.draw(i, attempt)
			count[kind]++
			forward = append(forward, kind)
			backward = append(backward, d.draw(n-1-i, attempts-1-attempt))
		}
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, backward) {
		t.Error("the order matters")
	}
	for kind, rate := range map[Kind]float64{Flip: 0.1, Cut: 0.05, Error: 0.2, Latency: 0.01, Forged: 0, Dead: 0, "": 0.64} {
		got, sigma := float64(count[kind])/(n*attempts), math.Sqrt(rate*(1-rate)/(n*attempts))
		if math.Abs(got-rate) > 5*sigma {
			t.Errorf("%q: %.4f instead of %.4f", kind, got, rate)
		}
	}
	other := dice{seed: 10, rates: rates}
	same := 0
	for i := range uint32(n) {
		if k := d.draw(i, 0); k != "" && k == other.draw(i, 0) {
			same++
		}
	}
	if same > n/10 { // 0.0526 of n by chance
		t.Errorf("another seed draws the same %d times", same)
	}
}

// The tail of latency is heavy: its mean is about six times the minimum, and a hundredth takes 46
// times that.
func TestLatencyHasATail(t *testing.T) {
	d := dice{seed: 1}
	var all []time.Duration
	for i := range uint32(20_000) {
		all = append(all, d.lateness(i, 0))
	}
	slices.Sort(all)
	if all[0] < leastLatency || all[len(all)-1] > mostLatency {
		t.Errorf("%v to %v", all[0], all[len(all)-1])
	}
	for share, want := range map[float64]float64{0.5: 1.78, 0.9: 6.81, 0.99: 46.4} { // (1-share)^(-1/1.2)
		got := float64(all[int(share*float64(len(all)))]) / float64(leastLatency)
		if got < want*0.85 || got > want*1.15 {
			t.Errorf("%v of answers come within %.1f times the least, not %.1f", share, got, want)
		}
	}
}

func TestRatesAreChecked(t *testing.T) {
	for _, pairs := range [][]string{{"flip"}, {"flip=x"}, {"flop=0.1"}, {"flip=-1"}, {"flip=2"}, {"flip=NaN"}, {"flip=0.6", "cut=0.6"}} {
		if r, err := ParseRates(pairs); err == nil {
			t.Errorf("%v is taken: %v", pairs, r)
		}
	}
	if r, err := ParseRates([]string{"flip=0.5", "cut=0.5", "dead=1", "forged=1"}); err != nil || r[Cut] != 0.5 {
		t.Errorf("%v, %v", r, err)
	}
}

// Some faults are impossible for a ledger without transactions or neighbours. The answer is right
// then, and none is counted.
func TestFaultsThatCannotBe(t *testing.T) {
	for _, kind := range []Kind{Empty, Partial, Signature, Other} {
		s := start(t, Config{ChainConfig: ChainConfig{Ledgers: 1, Transactions: -1}, Faults: Rates{kind: 1}})
		a, err := fetch(t, overHTTP(t, s), full(DefaultFirst, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := xrpl.NewVerifier().Ledger(&a.Ledger); err != nil || len(s.Injected().Faults) != 0 {
			t.Errorf("%s: %v, injected %v", kind, err, s.Injected().Faults)
		}
	}
}

// The documentation lists the faults of the code.
func TestFaultsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/ledgersync-simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	help := FaultHelp()
	for _, k := range kinds {
		if row := fmt.Sprintf("| `%s` | %s | %s |", k.Kind, k.drawn, k.does); !bytes.Contains(text, []byte(row)) {
			t.Errorf("docs/reference/ledgersync-simulator.md has no row\n%s", row)
		}
		if !strings.Contains(help, k.does) {
			t.Errorf("sim --help does not say what %s does", k.Kind)
		}
	}
}
