package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/subscription"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t testing.TB, j *Journal, id string, from uint64) subscription.Position {
	t.Helper()
	d := subscription.Definition{ID: id, URL: "http://example.org"}
	if err := j.Put(d, from); err != nil {
		t.Fatal(err)
	}
	return subscription.Position{Definition: d, Loaded: from, Routed: from, Filters: []subscription.Filter{{From: from}}}
}

func bury(t testing.TB, j *Journal, id string, seq uint64, record string) int {
	t.Helper()
	purged, err := j.AddDeadLetter(id, subscription.DeadLetter{Seq: seq, Reason: "poison", Attempts: 1}, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return purged
}

func checkpoint(j *Journal, positions ...subscription.Position) error {
	return j.Checkpoint(func(put func(subscription.Position)) {
		for _, p := range positions {
			put(p)
		}
	})
}

// reopen opens what a log's backend holds a second time.
func reopen(t testing.TB, j *Journal, backend *tape) (*Journal, map[string]*subscription.Recovered) {
	t.Helper()
	if err := j.log.Sync(); err != nil {
		t.Fatal(err)
	}
	return open(t, play(t, backend.steps))
}

func seqs(letters []subscription.DeadLetter) (all []uint64) {
	for _, l := range letters {
		all = append(all, l.Seq)
	}
	return all
}

func TestRefuses(t *testing.T) {
	j, _ := open(t, memory.New())
	defer shut(t, j)
	put(t, j, "s", 1)
	_, buried := j.AddDeadLetter("s", subscription.DeadLetter{Seq: 1}, make([]byte, maxRecord+1))
	_, unknown := j.AddDeadLetter("x", subscription.DeadLetter{Seq: 1}, nil)
	_, _, letter := j.DeadLetter("s", 1)
	for _, c := range []struct {
		err  error
		want string
	}{
		{j.Put(subscription.Definition{}, 1), "1 to 128 bytes"},
		{j.Put(subscription.Definition{ID: strings.Repeat("x", 129)}, 1), "1 to 128 bytes"},
		{j.Put(subscription.Definition{ID: "new", URL: strings.Repeat("x", maxDefinition)}, 1), "fewer types"},
		{j.Delivered("new", 1), ErrUnknown.Error()}, // as it was refused
		{j.Delivered("x", 1), ErrUnknown.Error()},
		{j.Failed("x", subscription.Waiting{}), ErrUnknown.Error()},
		{j.Delete("x", subscription.Counts{}), ErrUnknown.Error()},
		{buried, "is the most"},
		{unknown, ErrUnknown.Error()},
		{letter, ErrUnknown.Error()},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
	purged, err := j.Purge("s", 1)
	_, _, replayed, err2 := j.Replay("x", 1)
	if purged || replayed || err != nil || err2 != nil || j.DeadLetters("x") != nil {
		t.Errorf("letters that there are not: %v %v, %v %v", purged, err, replayed, err2)
	}
}

func TestPositionComesBack(t *testing.T) {
	backend := play(t, nil)
	j, _ := open(t, backend)
	defer shut(t, j)
	p := put(t, j, "s", 5)
	p.Disabled, p.Loaded, p.Routed, p.Backlog = "by hand", 5000, 6000, 900
	p.Filters = []subscription.Filter{{From: 1}, {From: 5, Types: []string{"a"}}, {From: 5500, None: true}}
	p.Counts = subscription.Counts{Accepted: 1, Delivered: 2, Retried: 3, Dead: 4, Refused: 5, Purged: 6}
	for seq := uint64(100); seq < 100+3*maxSeqs; seq++ {
		p.Waiting = append(p.Waiting, subscription.Waiting{Seq: seq, Tries: int(seq % 3)})
	}
	if err := checkpoint(j, p); err != nil {
		t.Fatal(err)
	}
	j2, got := reopen(t, j, backend)
	defer shut(t, j2)
	p.Filters = p.Filters[1:] // nothing is left under the first
	if !reflect.DeepEqual(got["s"].Position, p) {
		t.Errorf("got  %+v\nwant %+v", got["s"].Position, p)
	}
}

func TestManyAtOnce(t *testing.T) {
	backend := play(t, nil)
	j, _ := open(t, backend)
	defer shut(t, j)
	put(t, j, "s", 1)
	var all []uint64
	for seq := uint64(1); seq <= 3*maxSeqs; seq++ {
		all = append(all, seq)
	}
	if err := j.Delivered("s", all...); err != nil {
		t.Fatal(err)
	}
	j2, got := reopen(t, j, backend)
	defer shut(t, j2)
	if len(got["s"].Acked) != len(all) || got["s"].Counts.Delivered != int64(len(all)) {
		t.Errorf("%d are settled, %+v", len(got["s"].Acked), got["s"].Counts)
	}
	for _, s := range backend.steps {
		for _, record := range s.batch {
			if len(record) > 2*maxSeqs {
				t.Errorf("an event has %d bytes", len(record))
			}
		}
	}
}

func TestLimit(t *testing.T) {
	j, _ := open(t, memory.New())
	defer shut(t, j)
	put(t, j, "s", 1)
	j.Limit(3, 10)
	for seq := uint64(1); seq <= 3; seq++ {
		if purged := bury(t, j, "s", seq, "xx"); purged != 0 {
			t.Fatalf("%d purged with %d letters", purged, seq)
		}
	}
	if _, _, ok, err := j.Replay("s", 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if purged := bury(t, j, "s", 4, "xx"); purged != 1 || !slices.Equal(seqs(j.DeadLetters("s")), []uint64{1, 3, 4}) {
		t.Fatalf("a fourth: %d purged, %v stay; want 2 to go, as 1 is replayed", purged, seqs(j.DeadLetters("s")))
	}
	if purged := bury(t, j, "s", 5, "xxxxxxx"); purged != 2 || !slices.Equal(seqs(j.DeadLetters("s")), []uint64{1, 5}) {
		t.Fatalf("13 bytes: %d purged, %v stay; want 1 and 5", purged, seqs(j.DeadLetters("s")))
	}
	if purged := bury(t, j, "s", 6, "xxxxxxxxxxx"); purged != 2 || !slices.Equal(seqs(j.DeadLetters("s")), []uint64{1}) {
		t.Fatalf("11 bytes: %d purged, %v stay; want 1", purged, seqs(j.DeadLetters("s")))
	}
}

// The log holds no more after a checkpoint than the state takes, however often there is one.
func TestCheckpointShortens(t *testing.T) {
	backend := play(t, nil)
	j, _ := open(t, backend)
	defer shut(t, j)
	p := put(t, j, "s", 1)
	for seq := uint64(1); seq <= 1000; seq++ {
		if err := j.Delivered("s", seq); err != nil {
			t.Fatal(err)
		}
	}
	const letters = 5
	large := strings.Repeat("x", carryBytes/2) // so that they are carried in several turns
	for seq := uint64(2001); seq <= 2000+letters; seq++ {
		bury(t, j, "s", seq, large)
	}
	p.Loaded = 3000
	if err := j.log.Sync(); err != nil { // what is not committed when a checkpoint begins is kept until the next
		t.Fatal(err)
	}
	for range 3 {
		if err := checkpoint(j, p); err != nil {
			t.Fatal(err)
		}
		first, next := j.log.Bounds()
		if got, want := next-first, uint64(1+1+letters+2); got != want { // position, numbers of letters, letters, departed, complete
			t.Errorf("the log holds %d events, want %d", got, want)
		}
		if j.Size() != 0 {
			t.Errorf("the size is %d after a checkpoint", j.Size())
		}
	}
	if err := j.Delivered("s", 3001); err != nil || j.Size() < 4 || j.Size() > 8 {
		t.Errorf("the size is %d after one event (%v)", j.Size(), err)
	}
	size := j.Size()
	j2, _ := reopen(t, j, backend)
	defer shut(t, j2)
	if j2.Size() != size {
		t.Errorf("the size is %d when opened again, and was %d", j2.Size(), size)
	}
	if _, record, err := j2.DeadLetter("s", 2003); err != nil || string(record) != large {
		t.Errorf("letter 2003 has %d bytes, %v", len(record), err)
	}
}

// Letters stay where they are while the log is not much larger than they are.
func TestCarriesSeldom(t *testing.T) {
	j, _ := open(t, play(t, nil))
	defer shut(t, j)
	p := put(t, j, "s", 1)
	j.spare = 10_000
	bury(t, j, "s", 1, "record")
	p.Loaded = 2
	where := func() uint64 {
		t.Helper()
		if err := checkpoint(j, p); err != nil {
			t.Fatal(err)
		}
		return j.DeadLetters("s")[0].Where
	}
	begin := where()
	for i := range 10_000 {
		if err := j.Delivered("s", uint64(i+10)); err != nil {
			t.Fatal(err)
		}
		size := j.log.Size()
		if at := where(); at == begin {
			continue
		} else if size < j.spare {
			t.Errorf("the letter was carried from %d to %d in a log of %d bytes", begin, at, size)
		}
		if after := j.log.Size(); after > size/10 {
			t.Errorf("the log has %d bytes still, of %d", after, size)
		}
		return
	}
	t.Errorf("the letter was never carried, and the log has %d bytes", j.log.Size())
}

// A subscription that is not put at a checkpoint, as its caller does not know it yet, is not lost.
func TestNotPut(t *testing.T) {
	backend := play(t, nil)
	j, _ := open(t, backend)
	known := put(t, j, "known", 1)
	put(t, j, "new", 1)
	for range 2 { // once as it was put, once as it was read
		if err := j.Delivered("new", 1); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint(j, known); err != nil {
			t.Fatal(err)
		}
		if err := j.log.Sync(); err != nil {
			t.Fatal(err)
		}
		shut(t, j)
		backend = play(t, backend.steps)
		var got map[string]*subscription.Recovered
		j, got = open(t, backend)
		if got["new"] == nil || !got["new"].Acked[1] {
			t.Fatalf("got %v, want both subscriptions, and 1 delivered", got)
		}
	}
	shut(t, j)
}

// damaged is a backend some of whose records cannot be read.
type damaged struct {
	*tape
	from, next uint64
}

func (d *damaged) Scan(from uint64, visit func(uint64, []byte) error) error {
	if from >= d.from && from < d.next {
		return &wal.DamageError{From: d.from, Next: d.next}
	}
	reached := false
	err := d.tape.Scan(from, func(number uint64, record []byte) error {
		if reached = number >= d.from && number < d.next; reached {
			return wal.ErrStop
		}
		return visit(number, record)
	})
	if reached {
		return &wal.DamageError{From: d.from, Next: d.next}
	}
	return err
}

func TestDamage(t *testing.T) {
	backend := &damaged{tape: play(t, nil)}
	j, _ := open(t, backend)
	p := put(t, j, "s", 1)
	for seq := uint64(1); seq <= 3; seq++ {
		bury(t, j, "s", seq, fmt.Sprint("record ", seq))
	}
	p.Loaded = 4
	if err := j.log.Sync(); err != nil {
		t.Fatal(err)
	}
	backend.from, backend.next = 3, 4 // letter 2
	if _, _, err := j.DeadLetter("s", 2); err == nil || !strings.Contains(err.Error(), "letter s-2") {
		t.Fatalf("a damaged record: %v", err)
	}
	err := checkpoint(j, p)
	if !errors.Is(err, ErrUnread) || !strings.Contains(err.Error(), "letter s-2 is damaged, purge it") {
		t.Fatalf("checkpoint: %v", err)
	}
	if first, _ := j.log.Bounds(); first != 3 {
		t.Fatalf("the log begins at %d, want the letter at 3 still to be there", first)
	}
	j2, got := open(t, &damaged{play(t, backend.steps), 3, 4})
	if damage := j2.Damaged(); len(damage) != 0 || got["s"].Counts.Lost != 1 {
		t.Errorf("damaged: %v, %+v; the checkpoint says all but the letter's record", damage, got["s"].Counts)
	}
	if letters := seqs(j2.DeadLetters("s")); len(got) != 1 || !slices.Equal(letters, []uint64{1, 3}) {
		t.Errorf("%d subscriptions with letters %v are left, want one with 1 and 3", len(got), letters)
	}
	shut(t, j2)
	if ok, err := j.Purge("s", 2); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := checkpoint(j, p); err != nil {
		t.Fatal(err)
	}
	if first, _ := j.log.Bounds(); first <= 4 {
		t.Errorf("the log begins at %d after the damaged letter was purged", first)
	}
	shut(t, j)
}

func TestForeignLog(t *testing.T) {
	log := wal.New(memory.New(), wal.Options{})
	defer log.Close()
	if _, err := log.Append([][]byte{{9<<4 | 1, 0}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(log); err == nil || !strings.Contains(err.Error(), "event 1 of the journal cannot be read") {
		t.Errorf("got %v", err)
	}
}

// All operations run concurrently with checkpoints: no event is lost, no lock is held too long, and
// letters can be read at any time.
func TestTogether(t *testing.T) {
	backend := play(t, nil)
	j, _ := open(t, backend)
	const notices = 300
	dispatchers := make([]*locked, 4)
	var work sync.WaitGroup
	for i := range dispatchers {
		d := &locked{position: put(t, j, fmt.Sprintf("s%d", i), 1), random: rand.New(rand.NewPCG(uint64(i), 7))}
		dispatchers[i] = d
		work.Go(func() {
			for seq := uint64(1); seq <= notices; seq++ {
				if err := d.settle(j, seq); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, f := range []func() error{
		func() error {
			return j.Checkpoint(func(put func(subscription.Position)) {
				for _, d := range dispatchers {
					d.mu.Lock()
					put(d.position)
					d.mu.Unlock()
				}
			})
		},
		func() error { return readAll(j, dispatchers) },
	} {
		others.Go(func() {
			for {
				if err := f(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	work.Wait()
	close(done)
	others.Wait()
	j2, got := reopen(t, j, backend)
	defer shut(t, j2)
	shut(t, j)
	for _, d := range dispatchers {
		id := d.position.ID
		if r := got[id]; r.Counts != d.position.Counts || len(r.Waiting) > 0 || len(j2.DeadLetters(id)) != int(r.Counts.Dead-r.Counts.Purged) {
			t.Errorf("%s: %+v with %d letters and %v waiting, want %+v", id, r.Counts, len(j2.DeadLetters(id)), r.Waiting, d.position.Counts)
		}
	}
}

// locked is a subscription of a dispatcher: one notice after another is settled, under its lock.
type locked struct {
	mu       sync.Mutex
	position subscription.Position
	random   *rand.Rand
}

func (d *locked) settle(j *Journal, seq uint64) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, counts := d.position.ID, &d.position.Counts
	d.position.Loaded = seq + 1
	if d.random.IntN(2) == 0 {
		counts.Delivered++
		return j.Delivered(id, seq)
	}
	counts.Dead++
	if _, err := j.AddDeadLetter(id, subscription.DeadLetter{Seq: seq, Attempts: 1}, fmt.Append(nil, id, " ", seq)); err != nil {
		return err
	}
	switch d.random.IntN(4) {
	case 0:
		counts.Purged++
		_, err = j.Purge(id, seq)
	case 1:
		if _, _, _, err := j.Replay(id, seq); err != nil {
			return err
		}
		counts.Dead--
		counts.Delivered++
		err = j.Delivered(id, seq)
	}
	return err
}

func readAll(j *Journal, dispatchers []*locked) error {
	for _, d := range dispatchers {
		for _, l := range j.DeadLetters(d.position.ID) {
			_, record, err := j.DeadLetter(d.position.ID, l.Seq)
			if errors.Is(err, ErrUnknown) {
				continue // purged, or delivered, since
			}
			if want := fmt.Sprint(d.position.ID, " ", l.Seq); err != nil || string(record) != want {
				return fmt.Errorf("letter %d of %s: %q, %v", l.Seq, d.position.ID, record, err)
			}
		}
	}
	return nil
}

// stuck is a backend that writes nothing while it is locked.
type stuck struct {
	wal.Backend
	sync.Mutex
}

func (s *stuck) Write(batches [][][]byte) error {
	s.Lock()
	defer s.Unlock()
	return s.Backend.Write(batches)
}

func TestDeliveredAllocates(t *testing.T) {
	backend := &stuck{Backend: memory.New()}
	j, _ := open(t, backend)
	defer shut(t, j)
	put(t, j, "s", 1)
	backend.Lock() // so that the log can use nothing again, and allocates the same each time
	defer backend.Unlock()
	seq := uint64(0)
	n := testing.AllocsPerRun(5, func() {
		for range 1000 {
			seq++
			if err := j.Delivered("s", seq); err != nil {
				t.Fatal(err)
			}
		}
	})
	// One for the event, two for the log's entry, and now and then the queue of these grows.
	if n > 3100 {
		t.Errorf("1,000 Delivered allocate %v times", n)
	}
}
