package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// What a verdict is, held against the bound that the change established.
const (
	right    = "right"
	wrong    = "wrong"    // it names another bound
	unknown  = "unknown"  // it says that it cannot name the bound, or that the machine was the limit
	noUse    = "no use"   // the right bound, at a place that is not the cause
	unproven = "unproven" // the change did not relieve the load, so that nothing can be said
)

// worst orders what a load is judged by: of repeats, the first of these counts.
var worst = []string{wrong, unknown, noUse, right}

// least is the ratio from which on a change shows that what it relieves is the bound.
const least = 1.2

// diagnosis is what dyno diagnose --json prints, as far as it is judged.
type diagnosis struct {
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

// row is the result of a load, as it is stored and shown.
type row struct {
	Name     string     `json:"name"`
	Program  string     `json:"program"`
	Kind     string     `json:"kind"`
	Truth    string     `json:"truth"`
	BoundBy  string     `json:"bound_by"`
	Place    string     `json:"place"`
	Sure     string     `json:"sure"`
	Said     string     `json:"said"`
	Change   string     `json:"change"`
	Ratio    float64    `json:"ratio"`
	Interval [2]float64 `json:"ratio_bounds"`
	Judged   string     `json:"judged"`
	Same     int        `json:"same"` // repeats whose verdict is that of the first
	Repeats  int        `json:"repeats"`
	Commit   string     `json:"commit"` // of the dyno that said it
	made     map[string]any
	first    string // the first diagnosis of several
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
	r.Judged, r.BoundBy, r.Place, r.Sure = judged, d.BoundBy, "", "unconfirmed"
	if d.Confirmed {
		r.Sure = "confirmed"
	}
	if d.Kind != "" {
		r.BoundBy += " (" + d.Kind + ")"
	}
	if len(d.Where) > 0 {
		r.Place = path.Base(d.Where[0].Function)
	}
	r.Said = strings.TrimSpace(strings.Join([]string{d.Sheds, d.Headline, d.Reason}, " "))
}

// judge holds a diagnosis against the bound.
func (l bound) judge(d diagnosis) string {
	said := d.Headline + "\n" + d.Sheds
	for _, w := range d.Where {
		said += "\n" + w.Function
	}
	switch {
	case d.BoundBy == "" || d.BoundBy == "unknown" && !slices.Contains(l.Kinds, "unknown") || d.BoundBy == "environment":
		return unknown
	case !slices.Contains(l.Kinds, d.BoundBy):
		return wrong
	case !l.place.MatchString(said):
		return noUse
	}
	return right
}

// compare adds what the change brought.
func (r *row) compare(c comparison) error {
	w := c.Metric.Work
	if w.Ratio == nil || w.Interval == nil || len(c.Steps) != 2 {
		return fmt.Errorf("the comparison has no ratio: %s", c.Reason)
	}
	r.Ratio, r.Interval, r.Change, r.made = *w.Ratio, *w.Interval, c.Steps[1].Change, c.Made
	if r.Ratio < least || r.Interval[0] <= 1 {
		r.Judged = unproven
	}
	return nil
}

// results is the file that keeps the rows.
type results struct {
	Schema string         `json:"schema"`
	Steps  []row          `json:"steps"`
	Made   map[string]any `json:"made"`
}

// keep replaces a load's row in the file, or adds it.
func keep(file string, r row, made map[string]any) error {
	all := results{Schema: "dyno.verdicts/1"}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if i := slices.IndexFunc(all.Steps, func(o row) bool { return o.Name == r.Name }); i >= 0 {
		all.Steps[i] = r
	} else {
		all.Steps = append(all.Steps, r)
	}
	slices.SortFunc(all.Steps, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	all.Made = made
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
