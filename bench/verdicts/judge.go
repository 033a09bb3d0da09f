package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dyno/bench/stored"
)

// What a verdict is, held against the bound that the change established.
const (
	right    = "right"
	wrong    = "wrong"    // it names another bound
	unknown  = "unknown"  // it says that it cannot name the bound, that the machine was the limit, or that it is not valid
	noUse    = "no use"   // the right bound, at a place that is not the cause
	unproven = "unproven" // the change did not relieve the load, so that a verdict that agrees is worth nothing
)

// worst orders what a load is judged by: of repeats, the first of these counts.
var worst = []string{wrong, unknown, noUse, right}

// least is the ratio from which on a change shows that what it relieves is the bound.
const least = 1.2

// sheds is the kind of a bound that is a limit: the service refuses what exceeds it, and whatever else the
// diagnosis says is about the requests that it serves.
const sheds = "sheds"

// diagnosis is what dyno diagnose --json prints, as far as it is judged.
type diagnosis struct {
	Valid     bool
	BoundBy   string `json:"bound_by"`
	Kind      string
	Confirmed bool
	Headline  string
	Reason    string
	Sheds     string // says what the service refuses; empty: nothing
	Where     []struct{ Function string }
}

// comparison is what dyno compare --json prints.
type comparison struct {
	Valid  bool
	Reason string
	Steps  []struct{ Change string }
	Metric struct {
		Work struct {
			Ratio    *float64
			Interval *[2]float64
		}
	} `json:"metrics"`
	Made map[string]any
}

// kinds returns what the diagnosis says it is bound by, first with its kind: wait (network).
func (d diagnosis) kinds() []string {
	if d.Kind == "" {
		return []string{d.BoundBy}
	}
	return []string{d.BoundBy + " (" + d.Kind + ")", d.BoundBy}
}

// packages is the path of a package before its last element.
var packages = regexp.MustCompile(`(?:[\w.~-]+/)+`)

func (d diagnosis) place() string {
	if len(d.Where) == 0 {
		return ""
	}
	return packages.ReplaceAllString(d.Where[0].Function, "")
}

// row is the result of a load, as it is stored and shown.
type row struct {
	Name       string     `json:"name"`
	Program    string     `json:"program"`
	Kind       string     `json:"kind"`
	Truth      string     `json:"truth"`
	BoundBy    string     `json:"bound_by"`
	Place      string     `json:"place"`
	Sure       string     `json:"sure"`
	Said       string     `json:"said"`
	Change     string     `json:"change"`
	Ratio      float64    `json:"ratio"`
	Interval   [2]float64 `json:"ratio_bounds"`
	Judged     string     `json:"judged"`
	Same       int        `json:"same"` // repeats whose verdict is that of the first
	Repeats    int        `json:"repeats"`
	Commit     string     `json:"commit"` // of the dyno that said it
	stored.Run            // during the comparison
	made       map[string]any
	first      string // the first diagnosis of several
}

// add judges one diagnosis of the load; the worst of several is shown.
func (r *row) add(l bound, d diagnosis) {
	judged := l.judge(d)
	said := d.BoundBy + ", " + judged
	if r.first == "" {
		r.first = said
	}
	if said == r.first {
		r.Same++
	}
	if r.Judged != "" && slices.Index(worst, judged) >= slices.Index(worst, r.Judged) {
		return
	}
	r.Judged, r.BoundBy, r.Place, r.Sure = judged, d.kinds()[0], d.place(), "unconfirmed"
	if d.Confirmed {
		r.Sure = "confirmed"
	}
	if d.Sheds != "" {
		r.BoundBy = sheds + ", " + r.BoundBy
	}
	r.Said = strings.TrimSpace(strings.Join([]string{d.Sheds, d.Headline, d.Reason}, " "))
}

// judge holds a diagnosis against the bound.
func (l bound) judge(d diagnosis) string {
	says, said := d.kinds(), packages.ReplaceAllString(d.Headline, "")+"\n"+d.place()
	if slices.Contains(l.Kinds, sheds) && d.Sheds != "" {
		says, said = []string{sheds}, d.Sheds
	}
	switch {
	case !d.Valid || slices.Contains([]string{"", "unknown", "environment"}, says[0]):
		return unknown
	case !slices.ContainsFunc(says, func(k string) bool { return slices.Contains(l.Kinds, k) }):
		return wrong
	case !l.place.MatchString(said):
		return noUse
	}
	return right
}

// compare adds what the change brought. A wrong verdict stays wrong, whatever that is.
func (r *row) compare(c comparison) error {
	w := c.Metric.Work
	switch {
	case !c.Valid:
		return fmt.Errorf("the comparison is not valid: %s", c.Reason)
	case w.Ratio == nil || w.Interval == nil || len(c.Steps) != 2:
		return fmt.Errorf("the comparison has no ratio: %s", c.Reason)
	}
	r.Ratio, r.Interval, r.Change, r.made = *w.Ratio, *w.Interval, c.Steps[1].Change, c.Made
	took := stored.RunOf(c.Made)
	r.Others, r.Steal = took.Others, took.Steal
	if (r.Ratio < least || r.Interval[0] <= 1) && r.Judged != wrong {
		r.Judged = unproven
	}
	return nil
}

// keep replaces a load's row in the file, or adds it.
func (r row) keep(file string, made map[string]any) error {
	return stored.Keep(file, "dyno.verdicts/1", r, made, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
}
