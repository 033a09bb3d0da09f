package view

import (
	"slices"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Staged is where the requests of a variant spent their time, as distributed tracing reported it.
type Staged struct {
	Variant string
	Run     string // source run
	Rows    []StageRow
}

// StageRow is a stage within its transaction.
type StageRow struct {
	record.Stage
	Whole float64 // mean latency of the transaction's longest stage, ms; 0: unknown
}

// StagesOf returns the stages of the variants, each from its last valid traced run.
func StagesOf(e *record.Experiment) (out []Staged) {
	for _, name := range e.VariantNames() {
		for _, r := range slices.Backward(e.Runs) {
			if r.Spec.Variant == name && r.Invalid == "" && len(r.Stages) > 0 {
				out = append(out, Staged{Variant: name, Run: format.Run(r), Rows: stageRows(r.Stages)})
				break
			}
		}
	}
	return out
}

func stageRows(stages []record.Stage) (rows []StageRow) {
	whole := map[string]float64{}
	for _, s := range stages {
		// Not only the root's: work after the response may take longer.
		whole[s.Transaction] = max(whole[s.Transaction], s.Latency.Mean)
	}
	for _, s := range stages {
		rows = append(rows, StageRow{s, whole[s.Transaction]})
	}
	return rows
}
