package calibration

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"dyno/lab/diagnose"
)

// Fit moves each threshold to the middle of the gap that the cases leave it: between the highest signal
// of those that must not pass and the lowest of those that must, on a logarithmic scale. A threshold that
// no case bounds from both sides stays where the prior has it.
func Fit(cases []Case, prior diagnose.Thresholds) diagnose.Thresholds {
	out := maps.Clone(prior)
	for name, room := range Rooms(cases, prior) {
		if room.Low > 0 && !math.IsInf(room.High, 1) && room.Low < room.High {
			t := out[name]
			t.Value = math.Sqrt(room.Low * room.High)
			out[name] = t
		}
	}
	return out
}

// Room is how far a threshold may move before a verdict changes: Low is the highest signal that has to stay
// below it, High the lowest that has to reach it. Where the two overlap no threshold gets all cases right.
type Room struct {
	Low, High   float64
	LowBy       string // the server that bounds it from below
	HighBy      string
	Below, Over int // how many cases bound it
}

// Rooms finds the room of every threshold. A case bears on a condition of a rule when all other conditions
// of that rule hold for it, and the rules before it do not: then the condition alone decides whether the
// rule's bound is named, which for the rule's own servers it must be and for all others must not.
func Rooms(cases []Case, prior diagnose.Thresholds) map[string]Room {
	out := map[string]Room{}
	for _, c := range cases {
		if c.Hidden {
			continue
		}
		s := c.Subject.Diagnose(prior).Signals
		for _, rule := range diagnose.Rules {
			right := slices.Contains(c.Truth, rule.Bound)
			for _, condition := range rule.When {
				v, seen := s[condition.Signal]
				if !seen || condition.Threshold == diagnose.Always || !others(rule, condition, s, prior) {
					continue
				}
				// Reaching the threshold fulfils a condition; for one that is to stay below, the reverse.
				note(out, condition.Threshold, v, right != condition.Below, c.Server)
			}
			if right || holds(rule, s, prior) {
				break // later rules are not asked
			}
		}
	}
	return out
}

// others reports whether all conditions of a rule but one hold.
func others(rule diagnose.Rule, but diagnose.Condition, s diagnose.Signals, t diagnose.Thresholds) bool {
	for _, c := range rule.When {
		if c != but && !c.Holds(s, t) {
			return false
		}
	}
	return true
}

func holds(rule diagnose.Rule, s diagnose.Signals, t diagnose.Thresholds) bool {
	return others(rule, diagnose.Condition{}, s, t)
}

// note narrows a threshold's room by a signal that has to reach it, or has to stay below.
func note(rooms map[string]Room, name string, v float64, reach bool, server string) {
	room, known := rooms[name]
	if !known {
		room.High = math.Inf(1)
	}
	if reach {
		room.Over++
		if v < room.High {
			room.High, room.HighBy = v, server
		}
	} else {
		room.Below++
		if v > room.Low {
			room.Low, room.LowBy = v, server
		}
	}
	rooms[name] = room
}

// Names are the names of thresholds in order.
func Names(rooms map[string]Room) []string {
	return slices.SortedFunc(maps.Keys(rooms), cmp.Compare[string])
}
