package live

import (
	"time"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/format"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

// turnNews is the current result of an experiment by turns.
type turnNews struct {
	Words string       `json:"words"`
	Left  format.Value `json:"left_s"` // of the budget; null: no budget
	Rows  string       `json:"rows"`   // a row for each variant, as HTML
	Bound format.Value `json:"slo_ms"`
	view.TurnPanels
}

// turns returns an event when slices were added since the last call.
func (f *follower) turns(from *folder.Followed, e *record.Experiment) []event {
	if !f.slices.Next(from) {
		return nil
	}
	exp := *e
	exp.Slices = f.slices.All
	news := turnNews{Words: view.TurnsText(&exp), Left: format.Unknown, Rows: rowsHTML(sections.Turns(view.SoFar(&exp))),
		Bound: format.P99Bound(e.SLO), TurnPanels: view.NewTurnPanels(&exp)}
	if u := e.InProgress; u != nil && !u.Ends.IsZero() {
		news.Left = format.Value(max(0, time.Until(u.Ends).Seconds()))
	}
	return []event{{eventTurns, f.at, news}}
}
