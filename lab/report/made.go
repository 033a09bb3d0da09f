package report

import (
	"slices"
	"strings"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Made is where a result is from. Programs are in the order in which their variants first started.
type Made struct {
	Commit   string       `json:"commit"`                // of the measured programs' code, the last one of several; empty: unknown
	Base     string       `json:"base_commit,omitempty"` // the first one of several, as of two revisions that were compared
	Modified bool         `json:"modified"`
	Date     time.Time    `json:"date"`
	Command  []string     `json:"command"` // runs it again
	Machine  string       `json:"machine"`
	Packages []string     `json:"packages"` // main packages of the measured programs
	Others   format.Value `json:"others"`   // share of the machine that other processes took, the median
	Steal    format.Value `json:"steal"`    // share that the hypervisor took, likewise
}

// madeOf reads where an experiment is from.
func madeOf(e *record.Experiment) Made {
	m := Made{Date: e.Started.UTC().Truncate(time.Second), Command: withoutOut(e.Command), Machine: e.Machine.String(), Packages: []string{}}
	programs := slices.Clone(e.Programs)
	var commits []string
	var others, steal []float64
	for _, r := range e.Runs {
		programs = append(programs, record.Program{Package: r.Target.Package, Commit: r.Target.Commit, Modified: r.Target.Modified})
		if cores := r.Machine.Cores; r.System.Seen && cores > 0 {
			others = append(others, r.System.OthersCPU/float64(cores))
		}
	}
	for i := range e.Slices {
		others, steal = append(others, e.Slices[i].Others), append(steal, e.Slices[i].Steal)
	}
	m.Others, m.Steal = format.MedianOf(others), format.MedianOf(steal)
	for _, p := range programs {
		if p.Package == "" {
			continue
		}
		if m.Packages = append(m.Packages, p.Package); !slices.Contains(commits, p.Commit) {
			commits = append(commits, p.Commit)
		}
		m.Modified = m.Modified || p.Modified
	}
	slices.Sort(m.Packages)
	m.Packages = slices.Compact(m.Packages)
	if n := len(commits); n > 0 && !slices.Contains(commits, "") {
		m.Commit = commits[n-1]
		if n > 1 {
			m.Base = commits[0]
		}
	}
	if len(e.Revisions) == 2 { // built in folders that git does not know
		m.Base, m.Commit, m.Modified = e.Revisions[0], e.Revisions[1], e.Revisions[1] == ""
	}
	return m
}

// withoutOut leaves out --out, the folder of the record: it does not matter to what was measured.
func withoutOut(command []string) (out []string) {
	for i := 0; i < len(command); i++ {
		switch arg := command[i]; {
		case arg == "--out":
			i++
		case !strings.HasPrefix(arg, "--out="):
			out = append(out, arg)
		}
	}
	return out
}
