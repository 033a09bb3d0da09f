package otlp

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dyno/lab/record"
)

// Bounds on the samples of closed traces.
const (
	maxSamples = 1 << 19 // 16 MB
	maxStages  = 256     // each takes 220 kB while Stages runs
)

// sample is the part of a span that is kept. Samples are kept instead of histograms, so that Stages
// can evaluate any interval.
type sample struct {
	end, duration, self int64 // ns
	hash                uint32
	stage               uint16
	failed              bool
}

// samples is a bounded number of samples. Each time it is full, it drops half of the traces that it
// has, and from then on half of those that arrive. So the remaining ones are spread evenly over
// time and traces.
type samples struct {
	room    int // maxSamples
	seed    maphash.Seed
	stages  map[stage]uint16
	kept    []sample
	level   uint // minimum number of trailing zero bits in the hash of a kept trace
	thinned int64
}

func newSamples() samples {
	return samples{room: maxSamples, seed: maphash.MakeSeed(), stages: map[stage]uint16{}}
}

func (s *samples) add(trace [16]byte, st step) {
	one := s.sample(trace, st)
	if !s.keeps(one) {
		s.thinned++
		return
	}
	s.kept = append(s.kept, one)
	for len(s.kept) >= s.room {
		s.level++
		before := len(s.kept)
		s.kept = slices.DeleteFunc(s.kept, func(one sample) bool { return !s.keeps(one) })
		s.thinned += int64(before - len(s.kept))
	}
}

func (s *samples) keeps(one sample) bool { return one.hash&(1<<s.level-1) == 0 }

func (s *samples) sample(trace [16]byte, st step) sample {
	place, ok := s.stages[st.stage]
	if !ok {
		if len(s.stages) >= maxStages-1 { // all further stages count as the last one
			st.stage = stage{otherName, otherName, 0}
			place, ok = s.stages[st.stage]
		}
		if !ok {
			place = uint16(len(s.stages))
			s.stages[st.stage] = place
		}
	}
	return sample{end: st.end, duration: st.duration, self: st.self, failed: st.failed, stage: place,
		hash: uint32(maphash.Comparable(s.seed, trace))}
}

// Stages returns the latency by stage of the spans that ended in [from, to), in ns of
// CLOCK_MONOTONIC. Traces that may still grow count as they are. Exporters send spans with a delay,
// so call it after the senders have stopped, or a few seconds after to. The transactions are sorted
// by the total time in them, longest first; in each, the root comes first, then its children.
func (r *Receiver) Stages(from, to int64) []record.Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := &r.traces.samples
	sums := map[uint16]*sum{}
	count := func(one sample) {
		if one.end < from || one.end >= to || !all.keeps(one) {
			return
		}
		if sums[one.stage] == nil {
			sums[one.stage] = &sum{durations: record.NewHistogram()}
		}
		sums[one.stage].add(one)
	}
	for _, one := range all.kept {
		count(one)
	}
	for at := r.traces.quiet.Front(); at != nil; at = at.Next() {
		tr := at.Value.(*trace)
		for _, st := range tr.steps() {
			count(all.sample(tr.id, st))
		}
	}
	var out []record.Stage
	for st, place := range all.stages {
		if s := sums[place]; s != nil {
			out = append(out, s.stage(st))
		}
	}
	inOrder(out)
	return out
}

// sum sums up the samples of a stage.
type sum struct {
	durations *hdrhistogram.Histogram // ns
	self      float64                 // ns
	errors    int64
}

func (s *sum) add(one sample) {
	s.durations.RecordValue(record.Clamp(one.duration)) // no error: Clamp keeps it in the range
	s.self += float64(one.self)
	if one.failed {
		s.errors++
	}
}

func (s *sum) stage(st stage) record.Stage {
	n := s.durations.TotalCount()
	return record.Stage{
		Transaction: st.transaction, Name: st.name, Depth: st.depth,
		Count: n, Latency: record.QuantilesOf(s.durations), Self: s.self / float64(n) / 1e6, Errors: s.errors,
	}
}

func inOrder(stages []record.Stage) {
	spent := map[string]float64{} // ms, by transaction
	total := func(s record.Stage) float64 { return s.Latency.Mean * float64(s.Count) }
	for _, s := range stages {
		spent[s.Transaction] += total(s)
	}
	slices.SortFunc(stages, func(a, b record.Stage) int {
		return cmp.Or(
			cmp.Compare(spent[b.Transaction], spent[a.Transaction]), cmp.Compare(a.Transaction, b.Transaction),
			cmp.Compare(a.Depth, b.Depth), cmp.Compare(total(b), total(a)), cmp.Compare(a.Name, b.Name))
	})
}
