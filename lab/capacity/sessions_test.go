package capacity

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// holder is a target that carries a number of sessions.
type holder struct {
	most  int
	sends bool // sessions send messages, which are answered
}

func (c holder) run(step record.RunSpec) *record.Run {
	r := &record.Run{Spec: step, SLO: record.SLO{Frames: 29.5, Errors: 0.001}, Load: record.LoadInfo{Kind: record.KindSessions, Model: "open", Connections: step.Connections}}
	n := int64(step.Connections)
	r.Totals.Sessions = &record.Sessions{Planned: n, Opened: n, FramesMean: 30, FramesP1: 30}
	if step.Connections > c.most {
		r.Totals.Sessions.FramesP1 = 29
	}
	if c.sends {
		r.Totals.Offered, r.Totals.Ended, r.Totals.OfferedPerS, r.Totals.ThroughputPerS = 100*n, 100*n, float64(30*n), float64(30*n)
	}
	return r
}

func (c holder) search(t *rapid.T, s Sessions) (runs []*record.Run) {
	for {
		step, done := s.Next(runs)
		if done {
			return runs
		}
		if step.Connections < 1 || step.Closed || s.Max > 0 && step.Connections > s.Max || len(runs) > maxRuns {
			t.Fatalf("run %d is %+v", len(runs), step)
		}
		runs = append(runs, c.run(step))
	}
}

func TestSessionsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := holder{most: rapid.IntRange(1, 5000).Draw(t, "most"), sends: rapid.Bool().Draw(t, "sends")}
		s := Sessions{SLO: record.SLO{Frames: 29.5}, Start: rapid.IntRange(1, 500).Draw(t, "start"), Grow: 2, Fine: 1.05, Repeat: true}
		runs := c.search(t, s)
		peak, ok, warnings := PeakOf(runs, s.SLO)
		if n := float64(peak.Concurrency); !ok || peak.PerS != n || n > float64(c.most) || n < float64(c.most)/1.05-1 || len(warnings) > 0 {
			t.Fatalf("found %+v of %d, %v %v", peak, c.most, ok, warnings)
		}
		if len(runs) > 32 {
			t.Fatalf("it took %d runs", len(runs))
		}
		res := Summarise(&record.Experiment{SLO: s.SLO, Runs: named(runs)}, "v")
		if !res.Valid || math.Round(res.CapacityPerS) != peak.PerS || res.Concurrency != 0 {
			t.Fatalf("%+v", res)
		}
	})
}

func named(runs []*record.Run) []*record.Run {
	for _, r := range runs {
		r.Spec.Variant, r.Spec.Role = "v", record.RoleSearch
	}
	return runs
}

func TestSessionsWithoutAnEnd(t *testing.T) {
	s := Sessions{SLO: record.SLO{Frames: 29.5}, Start: 10, Max: 100, Grow: 2, Fine: 1.05}
	var runs []*record.Run
	for step, done := s.Next(runs); !done; step, done = s.Next(runs) {
		runs = append(runs, holder{most: 1000}.run(step))
	}
	peak, ok, warnings := PeakOf(runs, s.SLO)
	if !ok || peak.Concurrency != 100 || len(runs) != 5 || len(warnings) != 1 || !strings.Contains(warnings[0], "100 sessions, the most tried") {
		t.Errorf("%+v, %v after %d runs: %v", peak, ok, len(runs), warnings)
	}
	runs = nil
	for step, done := s.Next(runs); !done; step, done = s.Next(runs) {
		runs = append(runs, holder{most: 0}.run(step))
	}
	if _, ok, warnings = PeakOf(runs, s.SLO); ok || len(warnings) != 1 || !strings.Contains(warnings[0], "1 session, the fewest tried: frames 29/s") {
		t.Errorf("%v: %v", ok, warnings)
	}
}

// Sessions that go on when they have an answer are a closed loop, which the result says.
func TestSessionsOfAClosedLoop(t *testing.T) {
	s := Sessions{SLO: record.SLO{Frames: 29.5}, Start: 10, Grow: 2, Fine: 1.05}
	var runs []*record.Run
	for step, done := s.Next(runs); !done; step, done = s.Next(runs) {
		r := holder{most: 30, sends: true}.run(step)
		r.Load.Model = "closed"
		runs = append(runs, r)
	}
	if _, ok, warnings := PeakOf(runs, s.SLO); !ok || len(warnings) != 1 || !strings.Contains(warnings[0], "closed-loop: hides stalls") {
		t.Errorf("%v, %v", ok, warnings)
	}
}

// Sessions that only receive are judged by their frames and by those that were lost.
func TestLostSessionsAreErrors(t *testing.T) {
	r := holder{most: 100}.run(record.RunSpec{Connections: 100})
	if v := CheckSLO(r); !v.Met {
		t.Errorf("%+v", v)
	}
	r.Totals.Sessions.Lost = 1
	if v := CheckSLO(r); v.Met || !strings.Contains(strings.Join(v.Misses, " "), "errors 1% are over") {
		t.Errorf("%+v", v)
	}
	r.Totals.Sessions.Lost, r.Totals.Sessions.FramesP1 = 0, 0
	if v := CheckSLO(r); v.Met || !strings.Contains(strings.Join(v.Misses, " "), "no frame") {
		t.Errorf("%+v", v)
	}
}
