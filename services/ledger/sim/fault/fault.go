// Package fault has the kinds of faults that a simulated server has, dice that decide which answer
// gets which, and the count of those that were really sent. It makes no faulty answer: that is for
// the server, and for sim/chain. It starts no goroutines.
package fault

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dyno/parts/refusal"
)

// Kind is a kind of fault.
type Kind string

// The kinds: see kinds.
const (
	// The kinds of fault: see kinds.
	Error      Kind = "error"
	Unsynced   Kind = "unsynced"
	Overloaded Kind = "overloaded"
	Empty      Kind = "empty"
	Partial    Kind = "partial"
	Flip       Kind = "flip"
	Parent     Kind = "parent"
	Fork       Kind = "fork"
	Signature  Kind = "signature"
	Other      Kind = "other"
	Latency    Kind = "latency"
	Stall      Kind = "stall"
	Cut        Kind = "cut"
	Dead       Kind = "dead"
	Forged     Kind = "forged"
)

// kinds lists all, in the order of drawing: the first one drawn happens. Help and docs show it.
var kinds = []struct {
	Kind
	drawn string // what the rate is a share of
	does  string // what the server does
}{
	{Error, "answer", "HTTP 200 with `result.error`: slowDown, tooBusy, noCurrent, internal or lgrNotFound"},
	{Unsynced, "answer", "HTTP 200 with what a server says that has lost the network"},
	{Overloaded, "answer", "as if over its limit: HTTP 503 with text, WebSocket closed with 1008"},
	{Empty, "answer", "\"success\" with no transactions"},
	{Partial, "answer", "\"success\" with some transactions missing"},
	{Flip, "answer", "one byte of the header, a transaction or its metadata is another"},
	{Parent, "answer", "another parent, and the ledger's own hash fits"},
	{Fork, "answer", "the ledger of a fork, which is linked and hashed right all along"},
	{Signature, "answer", "one wrong signature, and tree and the ledger's own hash fit"},
	{Other, "answer", "the neighbour's ledger, whole and right"},
	{Latency, "answer", "it comes late, by 50 ms to 20 s, heavy-tailed"},
	{Stall, "answer", "it never comes (`--stall-for`)"},
	{Cut, "answer", "it ends in the middle of the body, and so does the connection"},
	{Dead, "WebSocket connection", "it is accepted and says nothing any more"},
	{Forged, "ledger of the chain", "a wrong signature in it, to which the whole chain above is linked: all hashes fit, and only L4 sees it"},
}

// Kinds lists the kinds of fault.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.Kind)
	}
	return all
}

// Help is the table of faults, a line each.
func Help() string {
	var out strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&out, "  %-11s of each %s: %s\n", k.Kind, k.drawn, k.does)
	}
	return strings.TrimRight(out.String(), "\n")
}

// ofAnswers says whether a kind is drawn for answers.
func (k Kind) ofAnswers() bool { return k != Dead && k != Forged }

// Rates are the probabilities (0 to 1) of faults in answers, by kind.
type Rates map[Kind]float64

// ParseRates reads KIND=RATE pairs, as --fault takes them.
func ParseRates(pairs []string) (Rates, error) {
	r := Rates{}
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("fault %q is not KIND=RATE, such as flip=0.01", pair)
		}
		r[Kind(name)] = rate
	}
	return r, r.Check()
}

// Check returns an error when there can be no such rates.
func (r Rates) Check() error {
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(r)) {
		switch rate := r[kind]; {
		case !slices.Contains(Kinds(), kind):
			var names []string
			for _, k := range Kinds() {
				names = append(names, string(k))
			}
			return refusal.Unknown("fault", string(kind), names...)
		case !(rate >= 0 && rate <= 1):
			return fmt.Errorf("the rate of fault %s is %v, not 0 to 1", kind, rate)
		case kind.ofAnswers():
			sum += rate
		}
	}
	if sum > 1 {
		return fmt.Errorf("the rates of faults add up to %v: at most every answer can go wrong", sum)
	}
	return nil
}

// Wrong reports whether a fault changes a right answer. (Forged ledgers are wrong in the chain.)
func (k Kind) Wrong() bool {
	switch k {
	case Empty, Partial, Flip, Parent, Fork, Signature, Other:
		return true
	}
	return false
}

// Dice decide by hashing, so that a run can be repeated: the same seed, ledger and attempt have the
// same fault, in whatever order requests arrive.
type Dice struct {
	Seed  uint64
	Rates Rates
}

// Roll is a pseudo-random number of a seed, a purpose and two numbers.
func (d Dice) Roll(purpose string, a, b uint64) uint64 {
	h := fnv.New64a()
	var buf [24]byte
	binary.BigEndian.PutUint64(buf[:], d.Seed)
	binary.BigEndian.PutUint64(buf[8:], a)
	binary.BigEndian.PutUint64(buf[16:], b)
	h.Write(buf[:])
	h.Write([]byte(purpose))
	return mix(h.Sum64())
}

// mix spreads the bits of FNV, whose high bits alone are not uniform. It is the finisher of
// SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// share is a Roll as a number from 0 to just below 1.
func (d Dice) share(purpose string, a, b uint64) float64 {
	return float64(d.Roll(purpose, a, b)>>11) / (1 << 53)
}

// Happens reports whether a fault is drawn for two numbers, by its own rate.
func (d Dice) Happens(kind Kind, a, b uint64) bool {
	rate := d.Rates[kind]
	return rate > 0 && d.share(string(kind), a, b) < rate
}

// Draw is the fault of the answer to one attempt at a ledger; "" means none. One roll covers all
// kinds, so that each has its own rate, whatever the others have.
func (d Dice) Draw(index, attempt uint32) Kind {
	if len(d.Rates) == 0 {
		return ""
	}
	at := d.share("draw", uint64(index), uint64(attempt))
	for _, k := range kinds {
		if !k.ofAnswers() {
			continue
		}
		if at -= d.Rates[k.Kind]; at < 0 {
			return k.Kind
		}
	}
	return ""
}

// Heavy-tailed latency: a Pareto distribution with a finite mean and an infinite variance, as in
// the tails of loaded servers.
const (
	leastLatency = 50 * time.Millisecond
	mostLatency  = 20 * time.Second
	tailIndex    = 1.2
)

// Lateness is how late an answer with Latency comes.
func (d Dice) Lateness(index, attempt uint32) time.Duration {
	u := 1 - d.share("lateness", uint64(index), uint64(attempt)) // never 0
	late := float64(leastLatency) * math.Pow(u, -1/tailIndex)
	return time.Duration(min(late, float64(mostLatency)))
}

// Injected counts what a Sim has really sent, so that tests can check what a client noticed.
type Injected struct {
	Answers int64          `json:"answers"` // sent whole, right or wrong
	Bytes   int64          `json:"bytes"`   // of answers' bodies
	Warned  int64          `json:"warned"`  // answers with the warning "load"
	Refused int64          `json:"refused"` // requests over the limit, answered slowDown, 503 or 1008
	Faults  map[Kind]Count `json:"faults"`
}

// Count is how often a fault was really sent: a wrong answer counts if all of it could be written
// to the connection, a cut one if half of it could, a stall when it begins. So every fault that a
// client has seen is counted; whether the client has read it cannot be known here.
type Count struct {
	Sent int64 `json:"sent"`
	// Ledgers counts by the requested ledger, and by the connection's number for Dead.
	Ledgers map[uint32]int `json:"ledgers"`
}

// maxCounted bounds the number of ledgers counted individually per kind: 2^20 take about 40 MB.
// Sent is not bounded.
const maxCounted = 1 << 20

// Tally counts. Its methods may be called from many goroutines.
type Tally struct {
	mu sync.Mutex
	so Injected
}

// Fault counts a fault, or removes it if by is -1.
func (t *Tally) Fault(kind Kind, index uint32, by int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.so.Faults == nil {
		t.so.Faults = map[Kind]Count{}
	}
	c := t.so.Faults[kind]
	if c.Ledgers == nil {
		c.Ledgers = map[uint32]int{}
	}
	c.Sent += by
	if _, known := c.Ledgers[index]; known || len(c.Ledgers) < maxCounted {
		if c.Ledgers[index] += int(by); c.Ledgers[index] <= 0 {
			delete(c.Ledgers, index)
		}
	}
	t.so.Faults[kind] = c
}

// Answer counts an answer, or removes it if by is -1.
func (t *Tally) Answer(bytes int, warned bool, by int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.so.Answers += by
	t.so.Bytes += by * int64(bytes)
	if warned {
		t.so.Warned += by
	}
}

// Refuse counts a request over the limit.
func (t *Tally) Refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.so.Refused++
}

// Copy is the counts so far.
func (t *Tally) Copy() Injected {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.so
	out.Faults = make(map[Kind]Count, len(t.so.Faults))
	for kind, c := range t.so.Faults {
		out.Faults[kind] = Count{c.Sent, maps.Clone(c.Ledgers)}
	}
	return out
}
