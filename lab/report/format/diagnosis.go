package format

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
)

// Bounds name the bottlenecks.
var Bounds = map[rules.Bottleneck]string{
	rules.CPU: "CPU", rules.GC: "allocation and GC", rules.Lock: "a lock", rules.Syscall: "system calls",
	rules.Wait: "waiting", rules.Generator: "the load generator", rules.Environment: "other processes",
	rules.NotLoaded: "none yet: it was not loaded", rules.Unknown: "unknown",
}

// BoundBy names a verdict briefly: a lock (mutex).
func BoundBy(d *diagnose.Diagnosis) string {
	switch {
	case d == nil:
		return Dash
	case !d.Valid:
		return "no verdict"
	}
	text := cmp.Or(Bounds[d.Bottleneck], string(d.Bottleneck), Bounds[rules.Unknown])
	if d.Kind != "" && d.Kind != string(d.Bottleneck) {
		text += " (" + d.Kind + ")"
	}
	if !d.Confirmed && d.Disturbed != "" && d.Bottleneck != rules.Environment {
		text += ", unconfirmed"
	}
	return text
}

// Verdict names a verdict with the further bounds: a lock (mutex), also allocation and GC.
func Verdict(d *diagnose.Diagnosis) string {
	text := BoundBy(d)
	if d.Valid && len(d.Also) > 0 {
		var also []string
		for _, b := range d.Also {
			also = append(also, cmp.Or(Bounds[b], string(b)))
		}
		text += ", also " + strings.Join(also, ", ")
	}
	return text
}

// uses are the signals that say how much of something is used.
var uses = []string{rules.Utilisation, rules.GeneratorBusy, rules.SerialBusy}

// Evidence formats a figure with its unit: a share as a percentage, with a word if it is the share of
// something that is used.
func Evidence(e findings.Evidence) string {
	v := Value(e.Value)
	if slices.Contains(uses, e.Signal) && v.Known() {
		return diagnose.UseText(e.Value)
	}
	switch e.Unit {
	case "share":
		return Percent(Value(Significant(e.Value, 3)))
	case "of CPU time", "per doubling":
		return Percent(Value(Significant(e.Value, 3))) + " " + e.Unit
	case "1/s":
		return Rate(v)
	}
	return Format(v) + Space(e.Unit)
}

// Signal formats a signal's name: cpu per request.
func Signal(e findings.Evidence) string { return strings.ReplaceAll(e.Signal, "_", " ") }

// Site formats a site's file with its last folder and, if it is known, its line.
func Site(p stacks.Site) string {
	if p.File == "" {
		return ""
	}
	dir, name := path.Split(strings.ReplaceAll(p.File, `\`, "/"))
	text := name
	if last := path.Base(dir); last != "." && last != "/" {
		text = last + "/" + name
	}
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
	}
	return text
}

// Share formats a site's share; empty if unknown.
func Share(p stacks.Site) string {
	if p.Share <= 0 {
		return ""
	}
	return Percent(Value(math.Round(p.Share*1000) / 1000))
}

// Held states whether the prediction came true.
func Held(i diagnose.Intervention) string {
	if i.Held {
		return "held"
	}
	return "failed"
}
