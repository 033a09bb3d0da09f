package otlp

import (
	"encoding/binary"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// spanOf returns a span of trace 1, with times in ms.
func spanOf(id, parent uint64, name string, start, end int64) span {
	s := span{trace: [16]byte{15: 1}, name: name, start: start * 1e6, end: end * 1e6}
	binary.BigEndian.PutUint64(s.id[:], id)
	binary.BigEndian.PutUint64(s.parent[:], parent)
	return s
}

func remote(s span) span { s.remote = true; return s }

// receiver returns a Receiver that does not listen, with a clock offset of 0.
func receiver(spans ...span) *Receiver {
	r := &Receiver{traces: newTraces(0)}
	r.traces.add(spans)
	return r
}

const ever = int64(1) << 62

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		spans []span
		want  []inMs
	}{
		{"children that overlap and outlast it", []span{
			spanOf(3, 1, "c", 20, 60), spanOf(2, 1, "b", 10, 40), spanOf(1, 0, "a", 1, 51), spanOf(4, 1, "d", 70, 100),
		}, []inMs{{"a", "a", 0, 1, 50, 9, 0}, {"a", "c", 1, 1, 40, 40, 0}, {"a", "b", 1, 1, 30, 30, 0}, {"a", "d", 1, 1, 30, 30, 0}}},
		{"sent twice", []span{spanOf(1, 0, "a", 1, 51), spanOf(2, 1, "b", 10, 40), spanOf(2, 1, "b", 10, 40)},
			[]inMs{{"a", "a", 0, 1, 50, 20, 0}, {"a", "b", 1, 1, 30, 30, 0}}},
		{"root in a process that sends nothing", []span{spanOf(2, 1, "b", 10, 20), remote(spanOf(1, 9, "a", 1, 51))},
			[]inMs{{"a", "a", 0, 1, 50, 40, 0}, {"a", "b", 1, 1, 10, 10, 0}}},
		{"root lost", []span{spanOf(2, 1, "b", 10, 20), spanOf(3, 2, "c", 12, 14)},
			[]inMs{{noRoot, "b", 1, 1, 10, 8, 0}, {noRoot, "c", 2, 1, 2, 2, 0}}},
		{"a parent lost next to the root", []span{remote(spanOf(7, 6, "r", 30, 40)), spanOf(8, 7, "s", 31, 32), spanOf(1, 0, "a", 1, 51)},
			[]inMs{{"a", "a", 0, 1, 50, 50, 0}, {"a", "r", 1, 1, 10, 9, 0}, {"a", "s", 2, 1, 1, 1, 0}}},
		{"of two entries the first", []span{remote(spanOf(3, 8, "late", 5, 9)), remote(spanOf(2, 9, "early", 1, 4))},
			[]inMs{{"early", "early", 0, 1, 3, 3, 0}, {"early", "late", 1, 1, 4, 4, 0}}},
		{"its own parent", []span{spanOf(1, 1, "a", 1, 2), spanOf(2, 3, "b", 1, 2), spanOf(3, 2, "c", 1, 2)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { wants(t, receiver(c.spans...).Stages(0, ever), c.want...) })
	}
}

// Every span gets a stage, and the order in which spans arrive does not matter.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := []span{spanOf(1, 0, "root", 1, 200)}
		for i := range rapid.IntRange(0, 12).Draw(t, "spans") {
			start := rapid.Int64Range(1, 100).Draw(t, "start")
			spans = append(spans, spanOf(uint64(i+2), uint64(rapid.IntRange(1, i+1).Draw(t, "parent")), fmt.Sprint(i),
				start, start+rapid.Int64Range(0, 50).Draw(t, "for")))
		}
		places := func(spans []span) map[step]int {
			out := map[step]int{}
			for _, s := range (&trace{spans: spans}).steps() {
				out[s]++
			}
			return out
		}
		want := places(spans)
		if len(want) != len(spans) {
			t.Fatalf("%d of %d spans count", len(want), len(spans))
		}
		if got := places(rapid.Permutation(spans).Draw(t, "order")); !maps.Equal(got, want) {
			t.Fatalf("%v, in another order %v", want, got)
		}
		for s := range want {
			if s.self < 0 || s.self > s.duration || s.transaction != "root" || (s.depth == 0) != (s.name == "root") {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// An open trace counts like a closed one.
func TestClosedTracesCount(t *testing.T) {
	r := receiver(spanOf(1, 0, "a", 1, 51), spanOf(2, 1, "b", 10, 40))
	want := fmt.Sprint(r.Stages(0, ever))
	r.traces.closeQuiet(ever)
	if got := fmt.Sprint(r.Stages(0, ever)); got != want || len(r.traces.open) != 0 || r.traces.spans != 0 || r.Losses() != (Losses{}) {
		t.Errorf("%s, when closed %s; %d are open", want, got, r.traces.spans)
	}
}

func TestBoundOfATrace(t *testing.T) {
	r := receiver()
	var spans []span
	for i := range maxTrace + 5 {
		spans = append(spans, spanOf(uint64(i+1), 0, "n", 1, 2))
	}
	if n := r.traces.add(spans); n != 5 {
		t.Errorf("%d were too many", n)
	}
}

func many(from, n int) []span {
	spans := make([]span, n)
	for i := range spans {
		spans[i] = spanOf(1, 0, "n", 1, 11)
		binary.BigEndian.PutUint64(spans[i].trace[:8], uint64(from+i))
	}
	return spans
}

func TestBoundOfOpenTraces(t *testing.T) {
	r := receiver()
	r.traces.room = 50
	r.traces.add(many(0, 150))
	if r.traces.spans != 50 || len(r.traces.open) != 50 || r.traces.quiet.Len() != 50 {
		t.Errorf("%d spans in %d traces are open", r.traces.spans, len(r.traces.open))
	}
	if got := r.Losses().Early; got != 100 {
		t.Errorf("%d were closed early", got)
	}
	wants(t, r.Stages(0, ever), inMs{"n", "n", 0, 150, 10, 10, 0})
}

// However many samples there were, some are kept from every part of the time.
func TestBoundOfSamples(t *testing.T) {
	s := newSamples()
	s.room = 4000
	const n = 12_000
	for i, one := range many(0, n) {
		s.add(one.trace, step{stage: stage{"n", "n", 0}, end: int64(i), duration: 10})
	}
	if len(s.kept) >= s.room || len(s.kept) < s.room/8 || int(s.thinned)+len(s.kept) != n {
		t.Fatalf("%d kept, %d left out", len(s.kept), s.thinned)
	}
	early := 0
	for _, one := range s.kept {
		if one.end < n/2 {
			early++
		}
	}
	if share := float64(early) / float64(len(s.kept)); share < 0.3 || share > 0.7 { // 9 standard deviations
		t.Errorf("%.3f of the samples are of the first half", share)
	}
}

func TestBoundOfNames(t *testing.T) {
	names := names{}
	for i := range maxNames {
		names.one(fmt.Sprint(i))
	}
	if got := names.one("more"); got != otherName || len(names) != maxNames {
		t.Errorf("%d names, and %s", len(names), got)
	}
	if got := names.one("7"); got != "7" {
		t.Error("a name that is known has become another")
	}
	s := newSamples()
	for i := range 2 * maxStages {
		s.add([16]byte{}, step{stage: stage{"t", fmt.Sprint(i), 0}})
	}
	if len(s.stages) != maxStages {
		t.Errorf("%d stages", len(s.stages))
	}
}
