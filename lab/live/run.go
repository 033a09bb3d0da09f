package live

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"net/http"

	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
)

// runPage is an experiment in progress, or one without a readable report.
type runPage struct {
	Name  string
	Title string
	Exp   *record.Experiment
	State State
}

// Turns and Runs are the tables that events fill.
func (runPage) Turns() sections.Table { return filled("turn-rows", sections.Turns(nil)) }
func (runPage) Runs() sections.Table  { return filled("rows", sections.Runs(nil)) }

func filled(id string, t sections.Table) sections.Table {
	t.ID = id
	return t
}

// run shows an experiment: its report or, while it is in progress, its runs so far.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	h, err := s.index.head(name)
	if errors.Is(err, errNone) {
		if steps, ok := s.index.isSearch(name); ok {
			s.search(w, r, name, steps)
			return
		}
	}
	if err != nil {
		fail(w, err)
		return
	}
	state, err := s.index.state(name)
	switch {
	case err != nil:
		fail(w, err)
	case state == Going || len(h.Exp.Order) == 0 && !h.Slices:
		show(w, http.StatusOK, "run", runPage{name, cmp.Or(format.Subject(h.Exp), name), h.Exp, state})
	default:
		s.report(w, r)
	}
}

// report shows the report of the measurements so far, also during an experiment.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	b, err := s.reports.of(r.Context(), name)
	if err != nil {
		fail(w, err)
		return
	}
	var links bytes.Buffer
	if err := pages.ExecuteTemplate(&links, "links", nil); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(withLinks(b.page, template.HTML(links.String())))
}

// withLinks adds links to the server's other pages at the top of a report's page.
func withLinks(page []byte, links template.HTML) []byte {
	const body = "<body>\n"
	return bytes.Replace(page, []byte(body), []byte(body+string(links)), 1)
}
