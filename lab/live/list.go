package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

type listPage struct {
	Dir     string
	Search  string
	Entries []listEntry
	Left    int // number not shown
}

type listEntry struct {
	Name    string // its folder
	Title   string
	Kind    string
	Started time.Time
	State   State
	Runs    int
	Slices  bool    // measured by turns
	Ending  string  // interrupted, failed or invalid; empty: complete or unknown
	Early   string  // reason for Ending
	Answer  *answer // nil: the page requests it later
	Steps   int     // experiments of a search; 0: it is one experiment
}

// list shows the newest experiments.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	heads, left, err := s.index.newest(q.Get("q"), maxShown)
	if err != nil {
		fail(w, err)
		return
	}
	p := listPage{Dir: s.index.dir, Search: q.Get("q"), Left: left}
	for _, h := range heads {
		p.Entries = append(p.Entries, s.entry(h))
	}
	slices.SortStableFunc(p.Entries, func(a, b listEntry) int { return b.Started.Compare(a.Started) })
	show(w, http.StatusOK, "list", p)
}

func (s *Server) entry(h head) listEntry {
	e := listEntry{
		Name: h.Name, Title: cmp.Or(format.Subject(h.Exp), h.Name), Kind: h.Exp.Kind, Started: h.Exp.Started,
		Runs: len(h.Exp.Order), Slices: h.Slices,
	}
	if len(h.Steps) > 0 {
		last, found := h.Steps[len(h.Steps)-1], s.index.found(h.Name)
		state, _ := s.index.state(last.name)
		e.Kind, e.Steps, e.State = searchKind(h.Exp), len(h.Steps), searchState(found, last.changed, state)
		if found != "" {
			e.Answer = &answer{Answer: found}
		}
		return e
	}
	e.Ending, e.Early = early(h.Exp)
	e.State, _ = s.index.state(h.Name) // one removed meanwhile counts as broken off
	if a, ok := s.reports.answers.get(h.Name, h.Stamp); ok && e.State != Going {
		e.Answer = &a
	}
	return e
}

// Later reports whether the page must request the answer.
func (e listEntry) Later() bool {
	return e.Answer == nil && e.State != Going && (e.Runs > 0 || e.Slices)
}

// early returns how and why an experiment ended early; both are empty otherwise.
func early(e *record.Experiment) (ending, why string) {
	if o := e.Outcome; o != nil && o.Status != record.OutcomeComplete {
		return o.Status, o.Reason
	}
	return "", ""
}

// answer returns an experiment's answer as JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	a, err := s.reports.answer(r.Context(), r.PathValue("name"))
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}

type failPage struct{ Title, Text string }

// fail responds with an error page.
func fail(w http.ResponseWriter, err error) {
	title := "This could not be read"
	if status(err) == http.StatusNotFound {
		title = "Not found"
	}
	show(w, status(err), "fail", failPage{title, err.Error()})
}

func status(err error) int {
	switch {
	case errors.Is(err, errNone):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
