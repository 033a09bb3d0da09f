package journal

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/services/notify/subscription"
)

// model is a dispatcher and what it should remember, in the plainest way: every notice of every
// subscription.
type model struct {
	next          uint64 // number of the next notice
	subscriptions map[string]*modelSubscription
	departed      subscription.Counts
}

type modelSubscription struct {
	definition subscription.Definition
	wants      []subscription.Filter // every change, by number
	from       uint64
	loaded     uint64 // by the position of a checkpoint to come: no number from here on is settled
	pending    map[uint64]subscription.Waiting
	letters    map[uint64]*modelLetter
	counts     subscription.Counts
}

type modelLetter struct {
	subscription.DeadLetter
	record string
}

func (m *model) clone() *model {
	c := &model{next: m.next, departed: m.departed, subscriptions: map[string]*modelSubscription{}}
	for id, s := range m.subscriptions {
		n := *s
		n.wants = slices.Clone(s.wants)
		n.pending = maps.Clone(s.pending)
		n.letters = map[uint64]*modelLetter{}
		for seq, l := range s.letters {
			copied := *l
			n.letters[seq] = &copied
		}
		c.subscriptions[id] = &n
	}
	return c
}

func (s *modelSubscription) wanted(seq uint64) string {
	var in subscription.Filter
	for _, f := range s.wants {
		if f.From <= seq {
			in = f
		}
	}
	return fmt.Sprint(in.Types, in.None)
}

// position is what a dispatcher would put at a checkpoint.
func (s *modelSubscription) position(next uint64) subscription.Position {
	p := subscription.Position{Definition: s.definition, Loaded: s.loaded, Routed: next, Counts: s.counts}
	p.Filters = slices.Clone(s.wants)
	for _, seq := range slices.Sorted(maps.Keys(s.pending)) {
		if seq < s.loaded {
			p.Waiting = append(p.Waiting, s.pending[seq])
		}
	}
	for seq, l := range s.letters { // which a dispatcher need not distinguish
		if l.Replaying && seq < s.loaded {
			p.Waiting = append(p.Waiting, l.Retry)
		}
	}
	return p
}

// check compares a model with what was read from a log.
func (m *model) check(t rapid.TB, when string, j *Journal, recovered map[string]*subscription.Recovered) {
	if got, want := slices.Sorted(maps.Keys(recovered)), slices.Sorted(maps.Keys(m.subscriptions)); !slices.Equal(got, want) {
		t.Fatalf("%s: subscriptions %v, want %v", when, got, want)
	}
	if got := j.Departed(); got != m.departed {
		t.Fatalf("%s: departed %+v, want %+v", when, got, m.departed)
	}
	for id, s := range m.subscriptions {
		s.check(t, when+", "+id, recovered[id], m.next)
		s.checkLetters(t, when+", "+id, j)
	}
}

func (s *modelSubscription) check(t rapid.TB, when string, r *subscription.Recovered, next uint64) {
	if got, want := fmt.Sprintf("%+v", r.Definition), fmt.Sprintf("%+v", s.definition); got != want {
		t.Fatalf("%s: definition %s, want %s", when, got, want)
	}
	if r.Counts != s.counts {
		t.Fatalf("%s: counts %+v, want %+v", when, r.Counts, s.counts)
	}
	for seq := range r.Failed {
		if seq < r.Loaded {
			t.Fatalf("%s: %d is among the failed, and before %d", when, seq, r.Loaded)
		}
	}
	known := modelSubscription{wants: r.Filters}
	for seq := s.from; seq < next; seq++ {
		got, pending := r.Failed[seq], !r.Acked[seq]
		if seq < r.Loaded {
			i := slices.IndexFunc(r.Waiting, func(w subscription.Waiting) bool { return w.Seq == seq })
			if pending = i >= 0; pending {
				got = r.Waiting[i]
			}
		}
		want, ok := s.pending[seq]
		if pending != ok || got.Tries != want.Tries || !got.Next.Equal(want.Next) {
			t.Fatalf("%s: notice %d is pending: %v, %+v; want %v, %+v", when, seq, pending, got, ok, want)
		}
		if got, want := known.wanted(seq), s.wanted(seq); pending && got != want {
			t.Fatalf("%s: notice %d falls under %s, want %s", when, seq, got, want)
		}
	}
}

func (s *modelSubscription) checkLetters(t rapid.TB, when string, j *Journal) {
	letters := j.DeadLetters(s.definition.ID)
	if len(letters) != len(s.letters) || !slices.IsSortedFunc(letters, func(a, b subscription.DeadLetter) int { return int(a.Seq) - int(b.Seq) }) {
		t.Fatalf("%s: letters %+v, want %d", when, letters, len(s.letters))
	}
	for _, got := range letters {
		want := s.letters[got.Seq]
		if want == nil {
			t.Fatalf("%s: letter %d should have gone", when, got.Seq)
		}
		again, record, err := j.DeadLetter(s.definition.ID, got.Seq)
		if err != nil || again != got || string(record) != want.record {
			t.Fatalf("%s: letter %d: %+v, %q, %v; want %+v, %q", when, got.Seq, again, record, err, got, want.record)
		}
		got.Where = 0
		if got != want.DeadLetter {
			t.Fatalf("%s: letter %+v, want %+v", when, got, want.DeadLetter)
		}
	}
}

// driver does random things to a journal and to a model.
type driver struct {
	rapid *rapid.T
	t     *testing.T
	tape  *tape
	j     *Journal
	*model
	history []*model // after each event, the first before any
	named   int
	now     time.Time
}

const mostLetters, mostBytes = 3, 70

func (d *driver) open(steps []step) {
	d.tape = play(d.t, steps)
	var recovered map[string]*subscription.Recovered
	d.j, recovered = open(d.t, d.tape)
	d.j.Limit(mostLetters, mostBytes)
	d.j.spare = rapid.SampledFrom([]int64{d.j.spare, -1000, 0, 1000, defaultSpare}).Draw(d.rapid, "spare")
	n := events(d.t, steps)
	d.history = d.history[:n+1]
	next := d.next
	d.model = d.history[n].clone()
	d.next = next // notices are remembered by another log
	for _, s := range d.subscriptions {
		for seq := max(s.from, d.history[n].next); seq < next; seq++ {
			s.pending[seq] = subscription.Waiting{Seq: seq}
		}
	}
	d.check(d.rapid, "reopened", d.j, recovered)
}

// told says that one event was written.
func (d *driver) told(err error) {
	if err != nil {
		d.rapid.Fatal(err)
	}
	d.history = append(d.history, d.clone())
}

func (d *driver) pick() *modelSubscription {
	if len(d.subscriptions) == 0 {
		return nil
	}
	return d.subscriptions[rapid.SampledFrom(slices.Sorted(maps.Keys(d.subscriptions))).Draw(d.rapid, "subscription")]
}

// pickPending draws one that is pending, which a replayed letter is too.
func (d *driver) pickPending(s *modelSubscription) (uint64, *modelLetter) {
	seqs := slices.Sorted(maps.Keys(s.pending))
	for _, seq := range slices.Sorted(maps.Keys(s.letters)) {
		if s.letters[seq].Replaying {
			seqs = append(seqs, seq)
		}
	}
	if len(seqs) == 0 {
		return 0, nil
	}
	seq := rapid.SampledFrom(seqs).Draw(d.rapid, "seq")
	s.loaded = max(s.loaded, seq+1)
	return seq, s.letters[seq]
}

func (d *driver) notices() {
	for range rapid.IntRange(1, 4).Draw(d.rapid, "notices") {
		for _, s := range d.subscriptions {
			s.pending[d.next] = subscription.Waiting{Seq: d.next}
		}
		d.next++
	}
}

func (d *driver) put() {
	s := d.pick()
	if s == nil || len(d.subscriptions) < 3 && rapid.Bool().Draw(d.rapid, "new") {
		d.named++
		s = &modelSubscription{
			definition: subscription.Definition{ID: fmt.Sprintf("sub_%d", d.named), Created: d.now},
			from:       d.next, loaded: d.next,
			pending: map[uint64]subscription.Waiting{}, letters: map[uint64]*modelLetter{},
		}
		d.subscriptions[s.definition.ID] = s
	}
	s.definition.URL = rapid.StringMatching(`http://[a-z]{1,9}`).Draw(d.rapid, "url")
	s.definition.Secrets = []subscription.Secret{{Key: []byte("secret")}}
	s.definition.Types = rapid.SampledFrom([][]string{nil, {"a"}, {"b", "c.*"}}).Draw(d.rapid, "types")
	s.definition.Disabled = rapid.SampledFrom([]string{"", "", "gone", "by hand"}).Draw(d.rapid, "disabled")
	want := subscription.Filter{From: d.next, Types: s.definition.Types}
	if s.definition.Disabled != "" {
		want = subscription.Filter{From: d.next, None: true}
	}
	s.wants = append(s.wants, want)
	d.told(d.j.Put(s.definition, d.next))
}

func (d *driver) remove() {
	s := d.pick()
	if s == nil || rapid.IntRange(0, 3).Draw(d.rapid, "remove") > 0 {
		return
	}
	delete(d.subscriptions, s.definition.ID)
	final := s.counts
	final.Dead += int64(len(s.pending))
	final.Accepted = 7
	d.departed = d.departed.Plus(final)
	d.told(d.j.Delete(s.definition.ID, final))
}

func (d *driver) deliver() {
	s := d.pick()
	if s == nil {
		return
	}
	var seqs []uint64
	for range rapid.IntRange(1, 3).Draw(d.rapid, "batch") {
		seq, letter := d.pickPending(s)
		if seq == 0 {
			break
		}
		tries := s.pending[seq].Tries
		if letter != nil {
			tries = letter.Retry.Tries
			delete(s.letters, seq)
		}
		delete(s.pending, seq)
		if tries > 0 {
			s.counts.Retried++
		}
		s.counts.Delivered++
		seqs = append(seqs, seq)
	}
	if seqs != nil {
		d.told(d.j.Delivered(s.definition.ID, seqs...))
	}
}

func (d *driver) fail() {
	s := d.pick()
	if s == nil {
		return
	}
	seq, letter := d.pickPending(s)
	if seq == 0 {
		return
	}
	w := s.pending[seq]
	if letter != nil {
		w = letter.Retry
	}
	if w.Tries > 0 {
		s.counts.Retried++
	}
	w.Tries++
	if w.Next = d.now; rapid.Bool().Draw(d.rapid, "immediately") {
		w.Next = time.Time{}
	}
	if letter != nil {
		letter.Retry = w
	} else {
		s.pending[seq] = w
	}
	d.told(d.j.Failed(s.definition.ID, w))
}

func (d *driver) addDeadLetter() {
	s := d.pick()
	if s == nil {
		return
	}
	seq, letter := d.pickPending(s)
	if seq == 0 {
		return
	}
	attempts := s.pending[seq].Tries
	record := fmt.Sprintf("%0*d", rapid.IntRange(0, 40).Draw(d.rapid, "size"), seq)
	if letter != nil {
		attempts, record = letter.Retry.Tries, letter.record
	}
	if rapid.Bool().Draw(d.rapid, "after an attempt") {
		if attempts++; attempts > 1 {
			s.counts.Retried++
		}
	}
	l := subscription.DeadLetter{Seq: seq, Reason: "it is poison", Attempts: attempts, Status: 500, DeadAt: d.now}
	s.counts.Dead++
	delete(s.pending, seq)
	kept := l
	kept.Size = len(record)
	s.letters[seq] = &modelLetter{kept, record}
	purged, err := d.j.AddDeadLetter(s.definition.ID, l, []byte(record))
	d.told(err)
	if want := s.shrink(); purged != want {
		d.rapid.Fatalf("AddDeadLetter purged %d, want %d", purged, want)
	}
	if purged > 0 {
		d.told(nil)
	}
}

// shrink purges the oldest letters beyond the limits.
func (s *modelSubscription) shrink() (purged int) {
	for _, seq := range slices.Sorted(maps.Keys(s.letters)) {
		size := 0
		for _, l := range s.letters {
			size += len(l.record)
		}
		if len(s.letters) <= mostLetters && size <= mostBytes {
			break
		}
		if !s.letters[seq].Replaying {
			delete(s.letters, seq)
			s.counts.Purged++
			purged++
		}
	}
	return purged
}

func (d *driver) pickLetter() (*modelSubscription, *modelLetter) {
	s := d.pick()
	if s == nil || len(s.letters) == 0 {
		return nil, nil
	}
	return s, s.letters[rapid.SampledFrom(slices.Sorted(maps.Keys(s.letters))).Draw(d.rapid, "letter")]
}

func (d *driver) purge() {
	s, l := d.pickLetter()
	if l == nil {
		return
	}
	ok, err := d.j.Purge(s.definition.ID, l.Seq)
	if l.Replaying {
		d.refused(ok, err)
		return
	}
	delete(s.letters, l.Seq)
	s.counts.Purged++
	d.told(err)
}

func (d *driver) replay() {
	s, l := d.pickLetter()
	if l == nil {
		return
	}
	got, record, ok, err := d.j.Replay(s.definition.ID, l.Seq)
	if l.Replaying {
		d.refused(ok, err)
		return
	}
	l.Replaying, l.Retry = true, subscription.Waiting{Seq: l.Seq}
	s.counts.Dead--
	got.Where = 0
	if !ok || err != nil || got != l.DeadLetter || string(record) != l.record {
		d.rapid.Fatalf("Replay: %+v, %q, %v, %v; want %+v, %q", got, record, ok, err, l.DeadLetter, l.record)
	}
	d.told(nil)
}

func (d *driver) refused(ok bool, err error) {
	if ok || err == nil {
		d.rapid.Fatal("a letter that is being replayed was purged or replayed")
	}
}

// something does one thing at random.
func (d *driver) something() {
	d.now = d.now.Add(time.Second)
	rapid.SampledFrom([]func(){
		d.notices, d.put, d.remove, d.deliver, d.deliver, d.fail, d.fail, d.addDeadLetter, d.addDeadLetter, d.purge, d.replay, d.replay,
	}).Draw(d.rapid, "do")()
}

// checkpoint does other things meanwhile: between the positions, and between reading letters and
// keeping them.
func (d *driver) checkpoint() {
	if err := d.j.log.Sync(); err != nil { // so that the same letters are carried over each time
		d.rapid.Fatal(err)
	}
	more := func() {
		scanned := d.tape.scanned
		d.tape.scanned = nil // which is for the checkpoint's own
		for range rapid.IntRange(0, 2).Draw(d.rapid, "meanwhile") {
			d.something()
		}
		d.tape.scanned = scanned
	}
	d.tape.scanned = more
	err := d.j.Checkpoint(func(put func(subscription.Position)) {
		for _, id := range slices.Sorted(maps.Keys(d.subscriptions)) {
			if s := d.subscriptions[id]; s != nil {
				put(s.position(d.next))
			}
			more()
		}
	})
	d.tape.scanned = nil
	if err != nil {
		d.rapid.Fatal(err)
	}
}

// After a crash at any moment, recovery reads what the journal had acknowledged until then,
// whatever checkpoints there were, and whatever happened during them.
func TestAnyCrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &driver{rapid: rt, t: t, now: time.UnixMilli(1_700_000_000_123).UTC()}
		d.model = &model{next: 1, subscriptions: map[string]*modelSubscription{}}
		d.history = []*model{d.clone()}
		d.open(nil)
		defer func() { shut(t, d.j) }()
		for range rapid.IntRange(1, 40).Draw(rt, "rounds") {
			switch rapid.IntRange(0, 9).Draw(rt, "round") {
			case 0:
				d.checkpoint()
			case 1:
				d.crash()
			default:
				d.something()
			}
		}
		d.checkpoint()
		shut(t, d.j)
		d.everyCrash()
		d.open(d.tape.steps)
	})
}

// crash goes on from one of the last few steps.
func (d *driver) crash() {
	shut(d.t, d.j)
	steps := d.tape.steps
	d.open(steps[:len(steps)-rapid.IntRange(0, min(len(steps), 8)).Draw(d.rapid, "lost")])
}

// everyCrash compares what recovery reads after each step with what was acknowledged before.
func (d *driver) everyCrash() {
	for n := range len(d.tape.steps) + 1 {
		steps := d.tape.steps[:n]
		j, recovered := open(d.t, play(d.t, steps))
		then := d.history[events(d.t, steps)]
		then.check(d.rapid, fmt.Sprintf("after step %d of %d", n, len(d.tape.steps)), j, recovered)
		shut(d.t, j)
	}
}
