package live

import (
	"slices"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// maxRows bounds the finished runs in one message to a client.
const maxRows = 50

// event is a message to a client.
type event struct {
	kind string // also the event's name on the wire
	at   position
	data any
}

// Kinds of event.
const (
	eventRun    = "run"    // runNews: another run is in progress, or none
	eventPoints = "points" // points: more windows of it
	eventRow    = "row"    // a run has finished: its row of the table of runs, as HTML
	eventTurns  = "turns"  // turnNews: more slices
	eventEnd    = "end"    // the experiment has ended: reload the page
)

// runNews announces the run in progress.
type runNews struct {
	ID    string       `json:"id"` // empty: between two runs
	Words string       `json:"words"`
	Bound format.Value `json:"slo_ms"`
}

// points are windows by column; null marks missing values.
type points struct {
	T      []float64                 `json:"t"` // s since the run's first window
	Phase  []string                  `json:"phase"`
	Series map[string][]format.Value `json:"series"`
	Gauges map[string][]format.Value `json:"gauges"`
}

// follower reads an experiment for one client, from the client's position.
type follower struct {
	index  *index
	name   string
	at     position
	fresh  bool // the client has no run yet
	slices folder.Slices
	series folder.Series // of the run in progress
}

// changes returns what was added since the last call, or since the position of the client.
func (f *follower) changes() ([]event, error) {
	h, err := f.index.head(f.name)
	if err != nil {
		return nil, err
	}
	from, err := f.index.open(f.name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	out := append(f.rows(from, h.Exp), f.turns(from, h.Exp)...)
	if state, err := f.index.state(f.name); err != nil || state != Going {
		return append(out, event{eventEnd, f.at, nil}), err
	}
	return append(out, f.run(from, h.Exp)...), nil
}

// rows returns events for the runs that have finished.
func (f *follower) rows(from *folder.Followed, e *record.Experiment) (out []event) {
	if f.at.Reported > len(e.Order) { // it is another experiment of that name
		f.at.Reported = 0
	}
	for _, id := range e.Order[f.at.Reported:min(len(e.Order), f.at.Reported+maxRows)] {
		f.at.Reported++
		out = append(out, event{eventRow, f.at, f.index.row(from, f.name, id)})
	}
	return out
}

func (f *follower) run(from *folder.Followed, e *record.Experiment) (out []event) {
	run := from.LastRun()
	if slices.Contains(e.Order, run) {
		run = ""
	}
	if f.fresh || run != f.at.Run {
		f.at.Run, f.at.Offset, f.series, f.fresh = run, 0, folder.Series{}, false
		out = append(out, event{eventRun, f.at, runNews{run, runText(e, run), format.P99Bound(e.SLO)}})
	}
	if run == "" {
		return out
	}
	f.series.Run, f.series.Offset = run, f.at.Offset
	windows, err := f.series.Next(from)
	f.at.Offset = f.series.Offset
	if err != nil || len(windows) == 0 {
		return out // an error in the series is reported when the run has finished
	}
	return append(out, event{eventPoints, f.at, pointsOf(windows, f.series.First)})
}

// pointsOf converts windows to columns.
func pointsOf(windows []record.Window, first int64) points {
	p := points{Series: map[string][]format.Value{}, Gauges: map[string][]format.Value{}}
	put := func(columns map[string][]format.Value, key string, i int, v float64) {
		if columns[key] == nil {
			columns[key] = make([]format.Value, len(windows))
			for j := range columns[key] {
				columns[key][j] = format.Unknown
			}
		}
		columns[key][i] = format.Value(v)
	}
	for i, w := range windows {
		phase, figures := view.Point(w)
		p.T, p.Phase = append(p.T, float64(w.Start-first)/1e9), append(p.Phase, phase)
		for key, v := range figures {
			put(p.Series, key, i, v)
		}
		if w.Server == nil {
			continue
		}
		for _, name := range gaugeNames(w.Server.Gauges) {
			put(p.Gauges, name, i, w.Server.Gauges[name])
		}
	}
	return p
}

// gaugeNames are the first gauges, in order.
func gaugeNames(gauges map[string]float64) []string {
	names := make([]string, 0, len(gauges))
	for name := range gauges {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), view.MaxGauges)]
}
