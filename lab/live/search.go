package live

import (
	"cmp"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/html"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

// Bounds on the folder of a search.
const (
	maxSteps  = 500     // files and folders
	maxOthers = 16      // folders before its first experiment
	maxResult = 1 << 20 // bytes of the file with its result
)

// results are the files in which searches leave what they found.
var results = []string{"tune.json", "bisect.json"}

// commands are those whose experiments are in folders of one folder, the search.
var commands = []string{"tune", "bisect"}

// steps are the experiments of a search, in the order in which their descriptions changed: there is
// at least one, and the last is the one in progress.
type steps []step

// step is an experiment of a search.
type step struct {
	name    string // SEARCH/EXPERIMENT
	changed time.Time
}

// isSearch returns the experiments of a folder that is the search of dyno tune or dyno bisect: its
// first experiment says so, or its result is there.
func (s *index) isSearch(name string) (out steps, ok bool) {
	root, err := s.root(name)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	for i, dir := range foldersIn(root) {
		at, err := root.Lstat(path.Join(dir, folder.ExperimentFile))
		switch {
		case err == nil && len(out) == 0 && !s.searches(root, name+"/"+dir):
			return nil, false
		case err == nil:
			out = append(out, step{name + "/" + dir, at.ModTime()})
		case len(out) == 0 && i >= maxOthers:
			return nil, false
		}
	}
	slices.SortStableFunc(out, func(a, b step) int { return a.changed.Compare(b.changed) })
	return out, len(out) > 0
}

// foldersIn returns the names of the folders in a folder, sorted; none if it holds too much.
func foldersIn(root *os.Root) (names []string) {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxSteps + 1)
	if len(entries) > maxSteps {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// searches reports whether an experiment in the folder of root was measured for a search.
func (s *index) searches(root *os.Root, experiment string) bool {
	for _, file := range results {
		if at, err := root.Lstat(file); err == nil && at.Mode().IsRegular() {
			return true
		}
	}
	h, err := s.head(experiment)
	return err == nil && searchCommand(h.Exp) != ""
}

// searchCommand is the command of the search for which an experiment was measured; empty: none.
func searchCommand(e *record.Experiment) string {
	if c := e.Command; len(c) > 1 && slices.Contains(commands, c[1]) {
		return c[1]
	}
	return ""
}

// openAll returns the readable descriptions of the experiments in the order in which they began.
func (s *index) openAll(of steps) (out []head, err error) {
	for _, x := range of {
		h, errHead := s.head(x.name)
		if errHead != nil {
			err = errHead
			continue
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b head) int {
		return cmp.Or(a.Exp.Started.Compare(b.Exp.Started), strings.Compare(a.Name, b.Name))
	})
	if len(out) > 0 {
		err = nil
	}
	return out, err
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

// searchState is the state of a search with an answer, or without one so far, by the states of its
// experiments. Between two of them, it builds.
func searchState(answer string, changed time.Time, of ...State) State {
	switch {
	case slices.Contains(of, Going):
		return Going
	case answer != "":
		return Ended
	case time.Since(changed).Abs() < staleAfter:
		return Going
	}
	return of[len(of)-1]
}

func searchKind(first *record.Experiment) string { return cmp.Or(searchCommand(first), "search") }

// searchPage is a search: its experiments, what they showed, and the one in progress.
type searchPage struct {
	Name, Title, Kind string
	State             State
	Answer            string
	Metric            string        // of the ratios
	Ratios            template.HTML // of all experiments so far; empty: none has a ratio
	Steps             template.HTML
	Live              *runPage // nil: none is in progress
}

func (s *Server) search(w http.ResponseWriter, r *http.Request, name string, of steps) {
	steps, err := s.index.openAll(of)
	if err != nil {
		fail(w, err)
		return
	}
	p := searchPage{Name: name, Title: cmp.Or(format.Subject(steps[0].Exp), name), Kind: searchKind(steps[0].Exp), Answer: s.index.found(name)}
	rows, ratios, states, changed := []stepRow{}, view.Ratios{Metric: gateMetric(steps[0].Exp)}, []State{}, time.Time{}
	for _, h := range steps {
		row := stepRow{head: h}
		row.state, _ = s.index.state(h.Name)
		if row.state == Going {
			p.Live = &runPage{h.Name, p.Title, h.Exp, Going}
		} else if a, err := s.reports.answer(r.Context(), h.Name); err == nil {
			row.answer = a.Answer
			ratios.Metric = cmp.Or(ratios.Metric, a.metric)
			ratios.Rows = append(ratios.Rows, a.ratios[ratios.Metric]...)
		}
		rows, states = append(rows, row), append(states, row.state)
		if h.Stamp.Changed.After(changed) {
			changed = h.Stamp.Changed
		}
	}
	p.State = searchState(p.Answer, changed, states...)
	if p.Steps, err = html.Table(stepTable(rows)); err == nil && len(ratios.Rows) > 0 {
		p.Metric = cmp.Or(format.Metrics[ratios.Metric], ratios.Metric)
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

// gateMetric is the metric that a search judges by, as its command says; empty: it has no gate.
func gateMetric(e *record.Experiment) string {
	for i, arg := range e.Command {
		value, joined := strings.CutPrefix(arg, "--gate=")
		if arg == "--gate" && i+1 < len(e.Command) {
			value, joined = e.Command[i+1], true
		}
		if g, err := compare.ParseGate(value); joined && err == nil {
			return g.Metric
		}
	}
	return ""
}

// ratiosOf are the ratios of a report's variants to what they were compared with, by metric.
func ratiosOf(r *report.Report) map[string][]view.RatioRow {
	out := map[string][]view.RatioRow{}
	for _, c := range r.Metrics {
		out[c.Metric] = append(out[c.Metric], view.RatioRow{Name: c.B, Ratio: format.Measured(c.Ratio), Interval: format.IntervalOf(c.Interval), Verdict: c.Verdict})
	}
	if len(out[r.RatioMetric]) > 0 {
		return out
	}
	for _, s := range r.Steps {
		if s.Ratio.Known() {
			out[r.RatioMetric] = append(out[r.RatioMetric], view.RatioRow{Name: s.Name, Ratio: s.Ratio, Interval: s.RatioInterval, Verdict: s.Verdict})
		}
	}
	return out
}
