package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/html"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

// Bounds on the folder of a search.
const (
	maxSteps  = 500     // experiments
	maxResult = 1 << 20 // bytes of the file with its result
)

// results are the files in which searches leave what they found.
var results = []string{"tune.json", "bisect.json"}

// steps returns the experiments of a search, which is a folder of folders: that of dyno tune or
// dyno bisect. They are in the order in which they began.
func (s *index) steps(name string) (out []head, err error) {
	root, err := s.root(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxSteps)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := root.Lstat(path.Join(e.Name(), folder.ExperimentFile)); err != nil {
			continue
		}
		if h, err := s.head(name + "/" + e.Name()); err == nil {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b head) int {
		return cmp.Or(a.Exp.Started.Compare(b.Exp.Started), strings.Compare(a.Name, b.Name))
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %q", errNone, name)
	}
	return out, nil
}

// found returns what a search has found, in a sentence; empty: it has not ended.
func (s *index) found(name string) string {
	root, err := s.root(name)
	if err != nil {
		return ""
	}
	defer root.Close()
	for _, file := range results {
		if at, err := root.Lstat(file); err != nil || !at.Mode().IsRegular() {
			continue
		}
		f, err := root.Open(file)
		if err != nil {
			continue
		}
		defer f.Close()
		var result struct{ Answer string }
		if json.NewDecoder(io.LimitReader(f, maxResult)).Decode(&result) == nil && result.Answer != "" {
			return result.Answer
		}
	}
	return ""
}

// searchState reports whether a search is in progress: between two of its experiments, it builds.
func (s *index) searchState(name string, steps []head) State {
	last := time.Time{}
	for _, h := range steps {
		state, _ := s.state(h.Name)
		if state != Ended {
			return state
		}
		if h.Stamp.Changed.After(last) {
			last = h.Stamp.Changed
		}
	}
	if s.found(name) == "" && time.Since(last).Abs() < staleAfter {
		return Going
	}
	return Ended
}

// searchKind is the command of a search.
func searchKind(steps []head) string {
	if c := steps[0].Exp.Command; len(c) > 1 && slices.Contains([]string{"tune", "bisect"}, c[1]) {
		return c[1]
	}
	return "search"
}

// searchPage is a search: its experiments, what they showed, and the one in progress.
type searchPage struct {
	Name, Title, Kind string
	State             State
	Answer            string
	Ratios            template.HTML // of all experiments so far; empty: none has a ratio
	Steps             template.HTML
	Live              *runPage // nil: none is in progress
}

// search shows a search.
func (s *Server) search(w http.ResponseWriter, r *http.Request, name string) {
	steps, err := s.index.steps(name)
	if err != nil {
		fail(w, err)
		return
	}
	p := searchPage{Name: name, Title: cmp.Or(format.Subject(steps[0].Exp), name), Kind: searchKind(steps), State: s.index.searchState(name, steps), Answer: s.index.found(name)}
	rows, ratios := []stepRow{}, view.Ratios{}
	for _, h := range steps {
		row := stepRow{head: h}
		row.state, _ = s.index.state(h.Name)
		if row.state == Going {
			p.Live = &runPage{h.Name, p.Title, h.Exp, Going}
		} else if a, err := s.reports.answer(r.Context(), h.Name); err == nil {
			row.answer = a.Answer
			if len(ratios.Rows) == 0 {
				ratios.Metric = a.metric
			}
			if a.metric == ratios.Metric {
				ratios.Rows = append(ratios.Rows, a.ratios...)
			}
		}
		rows = append(rows, row)
	}
	if p.Steps, err = html.Table(stepTable(rows)); err == nil && len(ratios.Rows) > 0 {
		p.Ratios, err = html.Ratios(ratios)
	}
	if err != nil {
		fail(w, err)
		return
	}
	show(w, http.StatusOK, "search", p)
}

// stepRow is an experiment of a search.
type stepRow struct {
	head
	state  State
	answer string
}

func stepTable(of []stepRow) sections.Table {
	t := sections.Table{Name: "experiments", Columns: []sections.Column{{Head: "experiment"}, {Head: "state"}, {Head: "variants"}, {Head: "result", Class: "remarks"}}}
	for _, row := range of {
		var names []string
		for _, v := range row.Exp.Variants {
			names = append(names, v.Name)
		}
		t.Rows = append(t.Rows, sections.Row{Share: -1, Cells: []sections.Cell{{Text: path.Base(row.Name), Link: link(row.Name)}, {Text: string(row.state)}, {Text: strings.Join(names, ", ")}, {Text: row.answer}}})
	}
	return t
}

// ratiosOf are the ratios of a report's variants to what they were compared with.
func ratiosOf(r *report.Report) (out []view.RatioRow) {
	for _, s := range r.Steps {
		if s.Ratio.Known() {
			out = append(out, view.RatioRow{Name: s.Name, Ratio: s.Ratio, Interval: s.RatioInterval, Verdict: s.Verdict})
		}
	}
	return out
}

// isSearch reports whether a folder holds experiments in folders of its own, and when they changed.
func (s *index) isSearch(name string) (changed time.Time, ok bool) {
	root, err := s.root(name)
	if err != nil {
		return time.Time{}, false
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil || len(entries) > maxSteps {
		return time.Time{}, false
	}
	for _, e := range entries {
		if at, err := root.Lstat(path.Join(e.Name(), folder.ExperimentFile)); err == nil && e.IsDir() {
			ok = true
			if at.ModTime().After(changed) {
				changed = at.ModTime()
			}
		}
	}
	return changed, ok
}
