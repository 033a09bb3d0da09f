package load

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/lab/workload"
)

func drawSpec(t *rapid.T) ScheduleSpec {
	length := time.Duration(rapid.Int64Range(1, int64(300*time.Millisecond)).Draw(t, "length"))
	s := ScheduleSpec{Kind: rapid.SampledFrom([]string{workload.Constant, workload.Poisson, workload.Ramp, workload.Stepwise, workload.File}).Draw(t, "kind")}
	rate := rapid.Float64Range(0, 20_000)
	switch s.Kind {
	case workload.Stepwise:
		s.Stages = []workload.Stage{{Rate: rate.Draw(t, "first"), Length: length / 2}, {Rate: rate.Draw(t, "second"), Length: length / 2}}
	case workload.File:
		s.Times = rapid.SliceOf(rapid.Int64Range(0, int64(length))).Draw(t, "times")
		slices.Sort(s.Times)
	default:
		s.PerSecond, s.To, s.Length, s.Seed = rate.Draw(t, "from"), rate.Draw(t, "to"), length, rapid.Uint64().Draw(t, "seed")
	}
	return s
}

// The shares of any number of agents, each with any number of threads, together are the schedule
// of a single generator: request k goes to agent k mod N and keeps its number.
func TestSharesOfAgentsAreTheSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		sent, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		whole := all(s.Open())
		agents := rapid.IntRange(1, 7).Draw(t, "agents")
		got, taken := make([]int64, len(whole)), make([]int, len(whole))
		for a := range agents {
			var received ScheduleSpec
			if err := json.Unmarshal(sent, &received); err != nil {
				t.Fatal(err)
			}
			if err := received.Check(); err != nil {
				t.Fatal(err)
			}
			threads := rapid.IntRange(1, 3).Draw(t, "threads")
			for k := range threads {
				seq, stride := a+k*agents, threads*agents // as load.Recorder numbers them
				for _, at := range all(Stride(Stride(received.Open(), a, agents), k, threads)) {
					if seq >= len(whole) {
						t.Fatalf("agent %d requests number %d of %d", a, seq, len(whole))
					}
					got[seq], taken[seq] = at, taken[seq]+1
					seq += stride
				}
			}
		}
		if !slices.Equal(got, whole) {
			t.Fatalf("%d agents send at %v, one at %v", agents, got, whole)
		}
		if slices.ContainsFunc(taken, func(n int) bool { return n != 1 }) {
			t.Fatalf("the numbers of each request are %v", taken)
		}
	})
}

func TestSpecIsChecked(t *testing.T) {
	for want, s := range map[string]ScheduleSpec{
		"unknown: every":    {Kind: "every"},
		"a rate of -1":      {Kind: workload.Constant, PerSecond: -1},
		"a rate of 1e+12":   {Kind: workload.Stepwise, Stages: []workload.Stage{{Rate: 1e12, Length: 1}}},
		"a length of -1ns":  {Kind: workload.Poisson, Length: -1},
		"comes after 20 ns": {Kind: workload.File, Times: []int64{20, 10}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
