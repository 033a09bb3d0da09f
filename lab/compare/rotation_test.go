package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// carryOut runs a rotation in which every slot takes a given number of valid runs, and every third
// run is invalid.
func carryOut(t interface{ Fatalf(string, ...any) }, r Rotation, runs int) *record.Experiment {
	exp := &record.Experiment{}
	r.Inner = func(slot record.RunSpec, seen []*record.Run) (record.RunSpec, bool) {
		valid := 0
		for _, run := range seen {
			if run.Spec.Role != slot.Role || run.Spec.Variant != slot.Variant || run.Spec.Round != slot.Round {
				t.Fatalf("slot %+v is shown the run of %+v", slot, run.Spec)
			}
			if run.Invalid == "" {
				valid++
			}
		}
		return record.RunSpec{Rate: 100}, valid >= runs
	}
	for {
		step, done := r.Next(exp)
		if done {
			return exp
		}
		run := &record.Run{Spec: step}
		if len(exp.Runs)%3 == 1 {
			run.Invalid = "neighbours"
		}
		if exp.Runs = append(exp.Runs, run); len(exp.Runs) > 100_000 {
			t.Fatalf("the rotation does not end")
		}
	}
}

func TestRotationOfTwoIsABBA(t *testing.T) {
	r := Rotation{Variants: []string{"A", "B"}, Rounds: 4}
	var got []string
	for round := 1; round <= 4; round++ {
		for _, s := range r.order(round) {
			got = append(got, s.Variant)
		}
	}
	if order := strings.Join(got, ""); order != "ABBABAAB" {
		t.Errorf("order %s", order)
	}
}

func TestRotationIsBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Rotation
		for i := range rapid.IntRange(1, 7).Draw(t, "variants") {
			r.Variants = append(r.Variants, fmt.Sprint("v", i))
		}
		if rapid.Bool().Draw(t, "floor") {
			r.Control = r.Variants[0]
		}
		for i := range rapid.IntRange(0, len(r.Variants)-1).Draw(t, "leave") {
			r.Ablations = append(r.Ablations, r.Variants[i])
		}
		slots := len(r.order(1))
		type key struct{ role, variant string }
		stood := map[key][]int{} // how often in each position
		for round := 1; round <= 2*slots; round += 2 {
			sum := map[key]int{}
			for _, order := range [][]record.RunSpec{r.order(round), r.order(round + 1)} {
				if len(order) != slots {
					t.Fatalf("a round of %d slots, another of %d", slots, len(order))
				}
				for place, s := range order {
					k := key{s.Role, s.Variant}
					sum[k] += place
					if stood[k] == nil {
						stood[k] = make([]int, slots)
					}
					stood[k][place]++
				}
			}
			for k, places := range sum { // a steady drift affects all equally
				if places != slots-1 {
					t.Fatalf("rounds %d and %d: %v stands in places that sum to %d, not %d", round, round+1, k, places, slots-1)
				}
			}
		}
		if len(stood) != slots {
			t.Fatalf("%d different slots of %d", len(stood), slots)
		}
		for k, places := range stood {
			if slices.Min(places) != 2 || slices.Max(places) != 2 {
				t.Fatalf("%v stood %v", k, places)
			}
		}
	})
}

func TestRotationMeasuresEverySlotInOrder(t *testing.T) {
	r := Rotation{Variants: []string{"a", "b", "c"}, Rounds: 3, Control: "a", Ablations: []string{"b"}}
	exp := carryOut(t, r, 2)
	valid := map[record.RunSpec]int{}
	last := 0
	for _, run := range exp.Runs {
		s := run.Spec
		if s.Rate != 100 {
			t.Fatalf("%+v", s)
		}
		if s.Round < last {
			t.Fatalf("round %d after round %d", s.Round, last)
		}
		last = s.Round
		if run.Invalid == "" {
			valid[s]++
		}
	}
	if len(valid) != 3*5 {
		t.Errorf("%d slots in 3 rounds", len(valid))
	}
	for s, n := range valid {
		if n != 2 {
			t.Errorf("%+v has %d valid runs", s, n)
		}
	}
	r.Enough = func(rounds int) bool { return rounds >= 2 }
	if exp := carryOut(t, r, 1); exp.Runs[len(exp.Runs)-1].Spec.Round != 2 {
		t.Errorf("two rounds suffice, and the last is %d", exp.Runs[len(exp.Runs)-1].Spec.Round)
	}
	if exp := carryOut(t, Rotation{Rounds: 5}, 1); len(exp.Runs) != 0 {
		t.Errorf("%d runs of nothing", len(exp.Runs))
	}
}
