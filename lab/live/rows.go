package live

import (
	"fmt"
	"strings"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/format"
	"dyno/lab/report/html"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

// row formats a finished run as a row of the table of runs, in HTML. An unreadable run becomes a
// row with the error.
func (s *index) row(from *folder.Followed, name, id string) string {
	is, err := from.Run(id)
	if err != nil {
		return unreadable(id, err)
	}
	key := name + "/" + id
	if r, ok := s.rows.get(key, is); ok {
		return r
	}
	run, err := folder.OpenRun(s.runDir(name, id))
	if err != nil {
		return unreadable(id, err)
	}
	r := rowHTML(view.RunOf(run))
	s.rows.put(key, is, r)
	return r
}

func unreadable(id string, err error) string {
	return rowHTML(view.RunOf(&record.Run{ID: id, Invalid: err.Error()}))
}

func rowHTML(r view.Run) string { return rowsHTML(sections.Runs([]view.Run{r})) }

func rowsHTML(t sections.Table) string {
	rows, err := html.Rows(t)
	if err != nil {
		return "" // a buffer accepts everything, and the template is tested
	}
	return string(rows)
}

// runText describes the purpose of the run in progress, as far as its folder's name shows it.
func runText(e *record.Experiment, id string) string {
	n, of, ok := folder.RunName(id)
	if u := e.InProgress; !ok && u != nil && u.Expected == 0 && !u.Ends.IsZero() {
		if len(e.Variants) == 1 {
			return e.Variants[0].Name + " is measured in slices"
		}
		return "the variants take turns"
	}
	if !ok {
		return fmt.Sprintf("after run %d: starting what comes next", len(e.Order))
	}
	if u := e.InProgress; u != nil && u.Spec.Role != "" {
		return fmt.Sprintf("run %d of about %d: %s", n, u.Expected, stepText(u.Spec))
	}
	role, variant, _ := strings.Cut(of, "-")
	for _, v := range e.Variants { // the folder's name may not contain the variant's name unchanged
		if strings.HasSuffix(e.NextID(record.RunSpec{Role: role, Variant: v.Name}), "-"+of) {
			variant = v.Name
		}
	}
	return fmt.Sprintf("run %d: %s, %s", n, variant, format.Role(role))
}

// stepText describes a step: its run, its purpose and its load.
func stepText(s record.RunSpec) string {
	parts := []string{s.Variant + ", " + format.Role(s.Role)}
	if s.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", s.Round))
	}
	if s.Rate > 0 {
		parts = append(parts, fmt.Sprintf("at %.0f/s", s.Rate))
	}
	if s.Connections > 0 && s.Closed {
		parts = append(parts, fmt.Sprintf("%d in flight", s.Connections))
	} else if s.Connections > 0 {
		parts = append(parts, fmt.Sprintf("%d connections", s.Connections))
	}
	return strings.Join(parts, ", ")
}
