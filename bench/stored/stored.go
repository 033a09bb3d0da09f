// Package stored says where a result of docs/results is from: the commit of the program that was
// measured, and what others took of the machine meanwhile. It is for the commands of bench that make such
// results; what dyno prints says it itself (lab/report).
package stored

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
)

// Made is where a result is from.
type Made struct {
	Commit   string    `json:"commit"` // of the measured program; empty: not known
	Modified bool      `json:"modified"`
	Date     time.Time `json:"date"`
	Command  []string  `json:"command"` // makes it again
	Machine  string    `json:"machine"`
	Packages []string  `json:"packages"` // main packages of the measured programs
	Others   *float64  `json:"others"`   // share of the machine that other processes took
	Steal    *float64  `json:"steal"`    // and the hypervisor
}

// Revision reads which commit a binary was built from; of no file, this process.
func Revision(file string) (commit string, modified bool, err error) {
	info, ok := debug.ReadBuildInfo()
	if file != "" {
		info, err = buildinfo.ReadFile(file)
	}
	if err != nil || file == "" && !ok {
		return "", false, err
	}
	commit, modified = host.Revision(info)
	return commit[:min(8, len(commit))], modified, nil
}

// Usage is what the machine, and this process with those that it started, had used at a time.
type Usage struct {
	at               time.Time
	busy, steal, own float64 // seconds of CPU
	known            bool
}

// Watch begins to measure what others take.
func Watch() (u Usage) {
	u.at = time.Now()
	stat, err := os.ReadFile("/proc/stat")
	if err == nil {
		u.busy, u.steal, err = procfs.CPUTimes(stat, nil)
	}
	u.known = err == nil
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			u.own += time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
		}
	}
	return u
}

// Made returns where a result is from that was measured since the watch began. The processes that this
// one started must have ended.
func (u Usage) Made(commit string, modified bool, command, packages []string) Made {
	m := Made{Commit: commit, Modified: modified, Date: time.Now().UTC().Truncate(time.Second), Command: command, Machine: host.Machine().String(), Packages: packages}
	if now := Watch(); u.known && now.known {
		all := float64(runtime.NumCPU()) * now.at.Sub(u.at).Seconds()
		others, steal := max(0, now.busy-u.busy-(now.own-u.own))/all, (now.steal-u.steal)/all
		m.Others, m.Steal = &others, &steal
	}
	return m
}

// Beside returns m with the higher shares of both, for a result of several runs.
func (m Made) Beside(other Made) Made {
	higher := func(a, b *float64) *float64 {
		if a == nil || b != nil && *b > *a {
			return b
		}
		return a
	}
	m.Others, m.Steal = higher(m.Others, other.Others), higher(m.Steal, other.Steal)
	return m
}

// Write writes a result.
func Write(file string, result any) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Read reads a stored result; one that does not exist changes nothing.
func Read(file string, into any) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// Shares are what others took of the machine while a row was measured; nil: not known.
type Shares struct {
	Others *float64 `json:"others"` // other processes
	Steal  *float64 `json:"steal"`  // the hypervisor
}

func (s Shares) shares() Shares { return s }

// SharesOf are those in what dyno prints of where a result is from.
func SharesOf(made map[string]any) (s Shares) {
	if v, ok := made["others"].(float64); ok {
		s.Others = &v
	}
	if v, ok := made["steal"].(float64); ok {
		s.Steal = &v
	}
	return s
}

// Rows is a result whose rows are measured one by one.
type Rows[R any] struct {
	Schema string         `json:"schema"`
	Steps  []R            `json:"steps"`
	Made   map[string]any `json:"made"`
}

// Keep replaces the row of the same name in a file, or adds it; order sorts rows, and those of one name are equal by it. Where
// the result is from is that of this row, with the packages of all, and the highest shares that others took during any.
func Keep[R interface{ shares() Shares }](file, schema string, row R, made map[string]any, order func(a, b R) int) error {
	all := Rows[R]{Schema: schema}
	if err := Read(file, &all); err != nil {
		return err
	}
	all.Steps = append(slices.DeleteFunc(all.Steps, func(was R) bool { return order(was, row) == 0 }), row)
	slices.SortFunc(all.Steps, order)
	packages := append(texts(all.Made["packages"]), texts(made["packages"])...)
	slices.Sort(packages)
	all.Made = maps.Clone(made)
	all.Made["packages"] = slices.Compact(packages)
	all.Made["others"] = highest(all.Steps, func(r R) *float64 { return r.shares().Others })
	all.Made["steal"] = highest(all.Steps, func(r R) *float64 { return r.shares().Steal })
	return Write(file, all)
}

// texts are the texts of a list, as Go or JSON has it.
func texts(list any) (out []string) {
	if out, ok := list.([]string); ok {
		return out
	}
	of, _ := list.([]any)
	for _, v := range of {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// highest returns the highest share of the rows; nil: that of a row is not known.
func highest[R any](rows []R, of func(R) *float64) (most *float64) {
	for _, r := range rows {
		v := of(r)
		if v == nil {
			return nil
		}
		if most == nil || *v > *most {
			most = v
		}
	}
	return most
}
