package calibration

import (
	"maps"
	"math"
	"slices"

	"dyno/lab/diagnose/rules"
)

// fit moves each threshold to the middle of its gap between the cases, on a logarithmic scale:
// between the highest signal that must not pass and the lowest that must. A threshold without a
// case on each side keeps its prior value.
//
// Thresholds are fitted one after the other, each with the earlier ones already moved. Cases that
// are right under the prior therefore stay right.
func fit(readings []reading, prior rules.Thresholds) rules.Thresholds {
	out := maps.Clone(prior)
	for _, name := range slices.Sorted(maps.Keys(prior)) {
		room := rooms(readings, out)[name]
		middle := math.Sqrt(room.Low) * math.Sqrt(room.High)
		if room.Low > 0 && !math.IsInf(room.High, 1) && room.Low < middle && middle <= room.High {
			t := out[name]
			t.Value = middle
			out[name] = t
		}
	}
	return out
}

// reading is a case with the signals that the rules read, which no threshold changes.
type reading struct {
	Case
	signals rules.Signals
}

// read reads the signals of the cases that a threshold can get right.
func read(cases []Case) []reading {
	var out []reading
	for _, c := range cases {
		if !c.Hidden {
			out = append(out, reading{c, c.Subject.Diagnose(rules.Defaults).Signals})
		}
	}
	return out
}

// Room is the range in which a threshold may move without changing a verdict: Low is the highest
// signal that must stay below it, High the lowest that must reach it. Where Low is above High, no
// threshold gets all cases right.
type Room struct {
	Low, High float64 // High is infinite if no signal must reach it
	LowBy     string  // the server that sets Low
	HighBy    string
}

// Rooms returns the room of every threshold with the others at the prior. For each case one right
// rule must hold, and the wrong rules before it must not.
func Rooms(cases []Case, prior rules.Thresholds) map[string]Room { return rooms(read(cases), prior) }

func rooms(readings []reading, t rules.Thresholds) map[string]Room {
	out := map[string]Room{}
	for _, r := range readings {
		asked := r.asked(t)
		for i, rule := range rules.All {
			if i == asked {
				for _, c := range rule.When {
					r.note(out, c, true)
				}
				break // later rules do not matter
			}
			if c, bears := r.decides(rule, t); bears && !r.right(rule) {
				r.note(out, c, false)
			}
		}
	}
	return out
}

// right reports whether a rule names a true bottleneck of the case.
func (r reading) right(rule rules.Rule) bool { return slices.Contains(r.Truth, rule.Bottleneck) }

// asked is the right rule that must hold: the first that does, or else the nearest to it. Several
// rules name the same bound, and a pool need not fill the accept queue. -1: no rule is near.
func (r reading) asked(t rules.Thresholds) int {
	nearest, at := math.Inf(1), -1
	for i, rule := range rules.All {
		if !r.right(rule) {
			continue
		}
		away := 0.0
		for _, c := range rule.When {
			if !c.Holds(r.signals, t) {
				away = max(away, r.distance(c, t))
			}
		}
		if away < nearest {
			nearest, at = away, i
		}
	}
	return at
}

// decides returns the condition that decides whether a rule holds: the only one that fails, or,
// when none fails, the one whose signal is nearest to its threshold. Where several fail, none
// decides alone.
func (r reading) decides(rule rules.Rule, t rules.Thresholds) (condition rules.Condition, ok bool) {
	failing, nearest := 0, math.Inf(1)
	for _, c := range rule.When {
		if !c.Holds(r.signals, t) {
			failing++
			condition, ok = c, true
		}
	}
	if failing > 0 {
		return condition, failing == 1
	}
	for _, c := range rule.When {
		if away := r.distance(c, t); away < nearest {
			nearest, condition, ok = away, c, true
		}
	}
	return condition, ok
}

// distance is how far a signal is from a condition's threshold: the logarithm of their ratio.
// Infinite: no threshold changes whether the condition holds.
func (r reading) distance(c rules.Condition, t rules.Thresholds) float64 {
	v, at := r.signals[c.Signal], t[c.Threshold].Value // 0 when not seen, and for Always
	if v <= 0 || at <= 0 {
		return math.Inf(1)
	}
	return math.Abs(math.Log(v / at))
}

// note narrows the room of a condition's threshold by a case for which it must hold, or must not.
func (r reading) note(rooms map[string]Room, c rules.Condition, hold bool) {
	v, seen := r.signals[c.Signal]
	if !seen || c.Missing || c.Threshold == rules.Always {
		return
	}
	room, known := rooms[c.Threshold]
	if !known {
		room.High = math.Inf(1)
	}
	if reach := hold != c.Below; reach {
		if v < room.High {
			room.High, room.HighBy = v, r.Server
		}
	} else {
		if v > room.Low {
			room.Low, room.LowBy = v, r.Server
		}
	}
	rooms[c.Threshold] = room
}

// Names returns the names of thresholds in order.
func Names(rooms map[string]Room) []string { return slices.Sorted(maps.Keys(rooms)) }
