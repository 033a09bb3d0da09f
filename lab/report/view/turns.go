package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// VariantSoFar is the current result of a variant's slices during an experiment.
type VariantSoFar struct {
	Variant     string
	Slices      int
	Work        format.Value // per second, peak; the median
	CPU         format.Value // us per request; the median
	Met, Judged int          // SLO slices
	Rate, P99   format.Value // of the last SLO slice: offered per second, ms
}

// SoFar returns the current results of all variants.
func SoFar(e *record.Experiment) (out []VariantSoFar) {
	for _, name := range e.VariantNames() {
		so := VariantSoFar{Variant: name, Rate: format.Unknown, P99: format.Unknown}
		var work, cpu []float64
		for i := range e.Slices {
			s := &e.Slices[i]
			if s.Variant != name || s.Role != record.RoleMeasure || s.Invalid != "" {
				continue
			}
			so.Slices++
			if s.Kind == record.SliceWork {
				work, cpu = append(work, s.PerS()), append(cpu, s.CPUMicros())
				continue
			}
			so.Rate, so.P99 = format.Measured(s.Rate), format.Measured(s.Latency.P99)
			if s.Inconclusive == "" {
				so.Judged++
				if s.Met {
					so.Met++
				}
			}
		}
		so.Work, so.CPU = format.Measured(float64(format.MedianOf(work))), format.Measured(float64(format.MedianOf(cpu)))
		out = append(out, so)
	}
	return out
}

// TurnsText states how much was measured so far, and how much the machine was disturbed.
func TurnsText(e *record.Experiment) string {
	t := SummariseTurns(e)
	if machine := t.MachineText(); machine != "" {
		return t.Text() + "; " + machine
	}
	return t.Text()
}

// TurnsSummary summarises the slices of an experiment by turns.
type TurnsSummary struct {
	Blocks      int `json:"blocks"`
	Generations int `json:"generations"`
	Slices      int `json:"slices"`
	Left        int `json:"slices_left_out"` // invalid slices
	// shares of the machine taken by the hypervisor and by other processes: medians over the slices
	Steal    format.Value   `json:"steal"`
	Others   format.Value   `json:"others"`
	Took     format.Seconds `json:"took_s"`
	Budget   format.Seconds `json:"budget_s"`    // 0: the plan's full length
	Compared int            `json:"comparisons"` // with the baseline
	Decided  int            `json:"decided"`
}

// busy is the share of the machine, taken by other processes, above which intervals are noticeably
// wider.
const busy = 0.05

// MachineText states how much the machine was disturbed.
func (t *TurnsSummary) MachineText() string {
	if !t.Steal.Known() {
		return ""
	}
	text := fmt.Sprintf("steal %s of the machine (median), others %s", format.Percent(format.Value(format.Significant(float64(t.Steal), 2))), format.Percent(format.Value(format.Significant(float64(t.Others), 2))))
	if t.Steal+t.Others >= busy {
		text += ": intervals are wider, and a capacity may be higher than it shows, since a slice can miss the SLO because of them"
	}
	return text
}

// Text states how much was measured.
func (t *TurnsSummary) Text() string {
	text := fmt.Sprintf("%s in %s of %s", format.Plural(t.Slices, "slice"), format.Plural(t.Blocks, "block"), format.Plural(t.Generations, "generation"))
	if t.Left > 0 {
		text += fmt.Sprintf(", %s left out", format.Count(int64(t.Left)))
	}
	if t.Budget.Duration > 0 {
		return text + fmt.Sprintf("; slices took %s of a budget of %s", t.Took.Round(time.Second), t.Budget.Round(time.Second))
	}
	return text + "; slices took " + t.Took.Round(time.Second).String()
}

// DecidedText states how many of the comparisons with the baseline are decided.
func (t *TurnsSummary) DecidedText() string {
	switch t.Compared {
	case 0:
		return ""
	case t.Decided:
		return "every comparison is decided"
	}
	return fmt.Sprintf("%d of %s decided", t.Decided, format.Plural(t.Compared, "comparison"))
}

// SummariseTurns summarises the slices.
func SummariseTurns(e *record.Experiment) *TurnsSummary {
	t := &TurnsSummary{Slices: len(e.Slices), Budget: format.Seconds{Duration: e.Budget}}
	var steal, others []float64
	blocks, first, last := map[[2]int]bool{}, int64(math.MaxInt64), int64(0)
	for _, s := range e.Slices {
		blocks[[2]int{s.Generation, s.Block}] = true
		t.Generations = max(t.Generations, s.Generation)
		first, last = min(first, s.Start), max(last, s.Start+int64(s.Length))
		steal, others = append(steal, s.Steal), append(others, s.Others)
		if s.Invalid != "" || s.Kind == record.SliceSLO && capacity.WhyExcluded(&s) != "" {
			t.Left++
		}
	}
	t.Blocks, t.Took = len(blocks), format.Seconds{Duration: time.Duration(last - first)}
	t.Steal, t.Others = format.MedianOf(steal), format.MedianOf(others)
	return t
}

// LeftOut counts the SLO slices left out because of other processes or the hypervisor.
func LeftOut(e *record.Experiment) (n int) {
	for _, name := range e.VariantNames() {
		_, left := capacity.TrialsOf(e.Slices, record.RoleMeasure, name)
		n += left
	}
	return n
}

// TrialRow is the SLO slices of one variant at about one rate.
type TrialRow struct {
	Variant     string
	Rate, P99   format.Value // medians: offered per second, ms
	Met, Judged int
}

// perTrialRow is the smallest number of slices in a row.
const perTrialRow = 5

// Trials summarises the SLO slices of the variants by rate.
func Trials(e *record.Experiment) (out []TrialRow) {
	for _, name := range e.VariantNames() {
		of, _ := capacity.TrialSlices(e.Slices, record.RoleMeasure, name)
		slices.SortStableFunc(of, func(a, b *record.Slice) int { return cmp.Compare(a.Rate, b.Rate) })
		size := max(perTrialRow, (len(of)+7)/8)
		for group := range slices.Chunk(of, size) {
			row := TrialRow{Variant: name, Judged: len(group)}
			var rates, p99 []float64
			for _, s := range group {
				rates, p99 = append(rates, s.Rate), append(p99, s.Latency.P99)
				if s.Met {
					row.Met++
				}
			}
			row.Rate, row.P99 = format.MedianOf(rates), format.MedianOf(p99)
			out = append(out, row)
		}
	}
	return out
}
