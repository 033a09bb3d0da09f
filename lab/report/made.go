package report

import (
	"slices"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Made is where a result is from.
type Made struct {
	Commit   string       `json:"commit"` // of the measured programs' code; empty: unknown, or not one
	Modified bool         `json:"modified"`
	Date     time.Time    `json:"date"`
	Command  []string     `json:"command"` // runs it again
	Machine  string       `json:"machine"`
	Packages []string     `json:"packages"` // main packages of the measured programs
	Others   format.Value `json:"others"`   // share of the machine that other processes and the hypervisor took, the median
}

// madeOf reads where an experiment is from.
func madeOf(e *record.Experiment) Made {
	m := Made{Date: e.Started.UTC().Truncate(time.Second), Command: e.Command, Machine: e.Machine.String(), Packages: []string{}}
	var commits []string
	var others []float64
	for _, r := range e.Runs {
		if r.Target.Package != "" {
			commits, m.Packages = append(commits, r.Target.Commit), append(m.Packages, r.Target.Package)
			m.Modified = m.Modified || r.Target.Modified
		}
		if cores := r.Machine.Cores; r.System.Seen && cores > 0 {
			others = append(others, r.System.OthersCPU/float64(cores))
		}
	}
	for i := range e.Slices {
		others = append(others, e.Slices[i].Others+e.Slices[i].Steal)
	}
	m.Others = format.MedianOf(others)
	slices.Sort(m.Packages)
	m.Packages = slices.Compact(m.Packages)
	slices.Sort(commits)
	if commits = slices.Compact(commits); len(commits) == 1 {
		m.Commit = commits[0]
	}
	return m
}
