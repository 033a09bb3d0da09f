package tuned

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/tune"
	"dyno/parts/quicktest"
)

// comparison is a proof of blocks in which GOGC=200 does gain times the work of the start.
func comparison(gain float64) *record.Experiment {
	e := &record.Experiment{Name: "toy", Kind: record.KindCompare, Metric: "work", Outcome: &record.Outcome{Status: record.OutcomeComplete},
		Variants: []record.Variant{{Name: "tuned"}, {Name: "GOGC=200"}}}
	rng := rand.New(rand.NewPCG(1, 1))
	for block := range 40 {
		for _, variant := range []string{"tuned", "GOGC=200"} {
			served := 10_000.0
			if variant != "tuned" {
				served *= gain
			}
			e.Slices = append(e.Slices, record.Slice{Kind: record.SliceWork, Role: record.RoleMeasure, Variant: variant, Generation: 1 + block/20, Block: block + 1,
				Start: int64(block) * int64(time.Second), Length: time.Second, Offered: int64(served), Served: int64(served * math.Exp(0.01*rng.NormFloat64())), TargetCPU: 0.5})
		}
	}
	return e
}

func search(gain float64) *tune.Search {
	s := &tune.Search{Scenario: "toy", Start: "tuned", Metric: "work", Build: "./cmd/toyd", Notes: []string{"pgo: the compiler refused"}}
	p := tune.New([]tune.Candidate{{{Kind: tune.Runtime, Name: "GOGC", Value: "200"}}, {{Kind: tune.Setting, Name: "workers", Value: "8"}}, {{Kind: tune.PGO, Name: tune.PGO}}}, tune.Room{Slots: 7, Least: time.Second})
	for _, g := range p.Next(time.Minute) {
		for _, c := range g.Candidates {
			switch c.String() {
			case "GOGC=200":
				p.Enter(c, []float64{0.1, 0.11, 0.09, 0.1, 0.1}, 1.5)
			case "workers=8":
				p.Enter(c, []float64{-0.1, -0.11, -0.09, -0.1, -0.1}, 1)
			case "pgo":
				p.Fail(c, "it did not start")
			}
		}
	}
	s.Chosen = p.Choose()
	s.Trials = p.Trials()
	s.Proof = comparison(gain)
	s.Memory.Start, s.Memory.Chosen = 64<<20, 96<<20
	return s
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*tune.Search)
		gain    float64
		verdict string
		says    []string
	}{
		"proved": {func(*tune.Search) {}, 1.08, Proved, []string{"GOGC=200 is faster than tuned: peak work rate 1.08x", "to set  GOGC=200  (environment)",
			"memory: 96.0 MiB, before 64.0 MiB (1.50x)", "workers=8", "0.90x", "worse", "failed: it did not start", "note: pgo: the compiler refused"}},
		"equal": {func(*tune.Search) {}, 1, NotProved, []string{"Keep tuned as it is: GOGC=200 seemed better, but fresh data do not prove it.", "seemed better  GOGC=200"}},
		"nothing": {func(s *tune.Search) { s.Chosen, s.Proof = nil, nil }, 1, Nothing,
			[]string{"Keep tuned as it is: none of 2 changes is shown to change peak work rate by 2% for the better."}},
		"interrupted": {func(s *tune.Search) { s.Proof = nil }, 1, NotProved, []string{"the proof has no result: it was interrupted"}},
		"cpu":         {func(s *tune.Search) { s.Metric, s.Proof.Metric = "cpu", "cpu" }, 1.08, Proved, []string{"needs less CPU than tuned", "GOGC=200   0.90x"}},
		"a build": {func(s *tune.Search) { s.Chosen = tune.Candidate{{Kind: tune.PGO, Name: tune.PGO}}; s.Proof = nil }, 1, NotProved,
			[]string{"go build -pgo=out/cpu.pprof ./cmd/toyd"}},
	} {
		s := search(c.gain)
		c.change(s)
		r := Build(s, "out", "out/cpu.pprof")
		var b bytes.Buffer
		if err := Print(&b, r); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.verdict {
			t.Errorf("%s: verdict %s, want %s", name, r.Verdict, c.verdict)
		}
		for _, want := range c.says {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s does not say %q:\n%s", name, want, b.String())
			}
		}
		b.Reset()
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		var read map[string]any
		if err := json.Unmarshal(b.Bytes(), &read); err != nil || read["schema"] != Schema || read["verdict"] != c.verdict {
			t.Errorf("%s: %v, %v", name, read["schema"], err)
		}
	}
}

// busyProof is a proof on a machine where processes of one program differ by 3%, until it is
// decided or three generations of 30 blocks have ended.
func busyProof(rng *rand.Rand, gain float64) *record.Experiment {
	e := &record.Experiment{Name: "toy", Kind: record.KindCompare, Metric: "work", Outcome: &record.Outcome{Status: record.OutcomeComplete},
		Variants: []record.Variant{{Name: "tuned"}, {Name: "GOGC=200"}}}
	start := compare.Arm{Role: record.RoleMeasure, Variant: "tuned"}
	chosen := compare.Arm{Role: record.RoleMeasure, Variant: "GOGC=200"}
	sides := []compare.Arm{start, {Role: record.RoleControl, Variant: "tuned"}, chosen}
	const generations, blocks, batch = 3, 30, 5
	var levels [3]float64 // of the present processes, as logarithms
	for block := range generations * blocks {
		if block%batch == 0 && compare.Decided(e.Slices, e.Metric, start, chosen) {
			break
		}
		generation := 1 + block/blocks
		for i, side := range sides {
			if block%blocks == 0 {
				levels[i] = 0.03 * rng.NormFloat64()
			}
			served := 10_000 * math.Exp(levels[i]+0.06*rng.NormFloat64())
			if side == chosen {
				served *= gain
			}
			e.Slices = append(e.Slices, record.Slice{Kind: record.SliceWork, Role: side.Role, Variant: side.Variant, Generation: generation, Block: block + 1,
				Start: int64(block) * int64(time.Second), Length: time.Second, Offered: int64(served), Served: int64(served), TargetCPU: 0.5})
		}
	}
	return e
}

// The proof accepts at most one in twenty of changes that do nothing, and nearly all that do 20%
// more work.
func TestProofOfNothing(t *testing.T) {
	proofs := quicktest.Of(100, 400)
	proved := map[float64]int{}
	for seed := range uint64(proofs) {
		rng := rand.New(rand.NewPCG(seed, 19))
		for _, gain := range []float64{1, 1.2} {
			s := search(1)
			s.Proof = busyProof(rng, gain)
			if Build(s, "out", "").Verdict == Proved {
				proved[gain]++
			}
		}
	}
	t.Logf("of %d proofs: %d of changes that do nothing, %d of changes that do 20%% more", proofs, proved[1], proved[1.2])
	if proved[1] > proofs/20 || proved[1.2] < proofs*9/10 {
		t.Errorf("proved: %v of %d", proved, proofs)
	}
}

// One that does more work but carries less under the SLO is not proposed.
func TestMissesSLO(t *testing.T) {
	s := search(1.08)
	s.Proof.SLO = record.SLO{Latency: map[string]float64{"p99": 20}}
	carries := map[string]float64{"tuned": 8000, "GOGC=200": 4000}
	for block := range 60 {
		for variant, capacity := range carries {
			rate := capacity * (0.7 + 0.6*float64(block%20)/20)
			s.Proof.Slices = append(s.Proof.Slices, record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Variant: variant, Generation: 3, Block: 100 + block,
				Length: time.Second, Rate: rate, Served: int64(rate), Offered: int64(rate), Met: rate < capacity*(0.98+0.04*float64(block%2))})
		}
	}
	r := Build(s, "out", "")
	if r.Verdict != MissesSLO || !strings.Contains(r.Answer, "carries less under the SLO") {
		t.Errorf("%s: %s", r.Verdict, r.Answer)
	}
}
