package compare

import (
	"slices"

	"dyno/lab/record"
)

// Rotation orders fresh measurements of several variants over rounds so that drift cancels. Each
// round measures every slot once: each variant, the baseline a second time, and the last variant
// without each step that Ablations names. Every even round repeats the previous one backwards (A B,
// B A), so that a steady drift affects all slots equally. Each further pair of rounds starts one
// slot later: after twice as many rounds as slots, each slot was in every position equally often.
type Rotation struct {
	Variants []string // in ladder order
	Rounds   int      // rounds count from 1
	Control  string   // the variant measured twice a round (record.RoleControl); empty: none
	// steps to leave out of the last variant (record.RoleAblation; RunSpec.Variant is the omitted
	// one)
	Ablations []string
	// Inner plans the runs of one slot, of which slot has the role, the variant and the round; runs
	// are those of this slot so far, invalid ones included. It returns the next run, or done.
	Inner func(slot record.RunSpec, runs []*record.Run) (record.RunSpec, bool)
	// Enough reports, before a round, whether those before suffice; nil: all rounds are taken.
	Enough func(rounds int) bool
}

// Next returns the next run of the rotation, or done. It keeps no state: it reads its position from
// the experiment's runs.
func (r Rotation) Next(exp *record.Experiment) (step record.RunSpec, done bool) {
	for round := 1; round <= r.Rounds; round++ {
		for i, slot := range r.order(round) {
			runs := exp.Select(func(run *record.Run) bool {
				s := run.Spec
				return s.Role == slot.Role && s.Variant == slot.Variant && s.Round == slot.Round
			})
			step, done := r.Inner(slot, runs)
			if done {
				continue
			}
			if i == 0 && len(runs) == 0 && r.Enough != nil && r.Enough(round-1) {
				return record.RunSpec{}, true
			}
			step.Role, step.Variant, step.Round = slot.Role, slot.Variant, slot.Round
			return step, false
		}
	}
	return record.RunSpec{}, true
}

// order returns the slots of a round, in order.
func (r Rotation) order(round int) []record.RunSpec {
	var slots []record.RunSpec
	add := func(role, variant string) {
		slots = append(slots, record.RunSpec{Role: role, Variant: variant, Round: round})
	}
	for _, v := range r.Variants {
		add(record.RoleMeasure, v)
	}
	for _, v := range r.Ablations {
		add(record.RoleAblation, v)
	}
	if r.Control != "" {
		add(record.RoleControl, r.Control)
	}
	if len(slots) == 0 {
		return nil
	}
	first := (round - 1) / 2 % len(slots)
	slots = append(slots[first:len(slots):len(slots)], slots[:first]...)
	if round%2 == 0 {
		slices.Reverse(slots)
	}
	return slots
}
