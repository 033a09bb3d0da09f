package view

import (
	"math"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// mostRounds bounds the rounds of a TurnPanels: what is older is in the report.
const mostRounds = 300

// TurnPanels are charts of the slices so far over the rounds of turns.
type TurnPanels struct {
	Rounds []int       `json:"rounds"`
	Panels []TurnPanel `json:"panels"` // those that show something
}

// TurnPanel is a chart with a line for each variant.
type TurnPanel struct {
	Title string     `json:"title"`
	Unit  string     `json:"unit"`
	Log   bool       `json:"log"`
	Lines []TurnLine `json:"lines"`
}

// TurnLine is a figure of a variant in each round; null: it has no such slice there.
type TurnLine struct {
	Label string         `json:"label"`
	Y     format.Numbers `json:"y"`
}

// turnFigures are what the panels show of a slice; kind is that of the slices that have it.
var turnFigures = []struct {
	panel TurnPanel
	kind  string
	of    func(*record.Slice) float64
}{
	{TurnPanel{Title: "Work rate", Unit: "per second, peak"}, record.SliceWork, (*record.Slice).PerS},
	{TurnPanel{Title: "CPU", Unit: "us per request"}, record.SliceWork, (*record.Slice).CPUMicros},
	{TurnPanel{Title: "Offered", Unit: "per second, judged by the SLO"}, record.SliceSLO, func(s *record.Slice) float64 { return s.Rate }},
	{TurnPanel{Title: "p99", Unit: "ms", Log: true}, record.SliceSLO, func(s *record.Slice) float64 { return s.Latency.P99 }},
}

// NewTurnPanels reads the charts of an experiment by turns. The last slice of a round counts.
func NewTurnPanels(e *record.Experiment) (out TurnPanels) {
	type round struct{ generation, block int }
	column, n := map[round]int{}, 0
	of := func(s *record.Slice) bool { return s.Role == record.RoleMeasure && s.Invalid == "" }
	for i := range e.Slices {
		s := &e.Slices[i]
		if _, known := column[round{s.Generation, s.Block}]; !known && of(s) {
			column[round{s.Generation, s.Block}] = n
			n++
		}
	}
	left := max(0, n-mostRounds)
	out.Rounds, out.Panels = []int{}, []TurnPanel{}
	for i := left; i < n; i++ {
		out.Rounds = append(out.Rounds, i+1)
	}
	for _, f := range turnFigures {
		for _, name := range e.VariantNames() {
			line := TurnLine{name, make(format.Numbers, n-left)}
			for i := range line.Y {
				line.Y[i] = math.NaN()
			}
			for i := range e.Slices {
				s := &e.Slices[i]
				at := column[round{s.Generation, s.Block}] - left
				if s.Variant == name && s.Kind == f.kind && of(s) && at >= 0 && f.of(s) > 0 {
					line.Y[at] = f.of(s)
				}
			}
			if !line.Y.Empty() {
				f.panel.Lines = append(f.panel.Lines, line)
			}
		}
		if len(f.panel.Lines) > 0 {
			out.Panels = append(out.Panels, f.panel)
		}
	}
	return out
}
