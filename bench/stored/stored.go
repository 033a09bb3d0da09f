// Package stored says where a result of docs/results is from: the commit of the program that was
// measured, and what others took of the machine meanwhile. It is for the commands of bench that make such
// results; what dyno prints says it itself (lab/report).
package stored

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
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

// Tree returns which commit the working directory is of, for programs that go test builds anew while they are measured.
func Tree(ctx context.Context) (commit string, modified bool, err error) {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return "", false, fmt.Errorf("the commit is not known, git rev-parse HEAD: %w", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	if err != nil {
		return "", false, fmt.Errorf("git status: %w", err)
	}
	return strings.TrimSpace(string(head)), len(changes) > 0, nil
}

// Beside returns m with the higher shares of both, for a result of several runs. It is of modified code if one of them is, and
// of no known commit if they are of two.
func (m Made) Beside(other Made) Made {
	if m.Modified = m.Modified || other.Modified; !other.Date.IsZero() && other.Commit != m.Commit {
		m.Commit = ""
	}
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

// Run is how a row was measured.
type Run struct {
	Modified bool     `json:"modified,omitempty"` // the program was not what its commit has
	Quick    bool     `json:"quick,omitempty"`    // in the quick form
	Others   *float64 `json:"others"`             // share of the machine that other processes took; nil: not known
	Steal    *float64 `json:"steal"`              // and the hypervisor
}

func (r Run) run() Run { return r }

// RunOf reads what dyno prints of where a result is from.
func RunOf(made map[string]any) (r Run) {
	r.Modified, _ = made["modified"].(bool)
	if v, ok := made["others"].(float64); ok {
		r.Others = &v
	}
	if v, ok := made["steal"].(float64); ok {
		r.Steal = &v
	}
	return r
}

// Rows is a result whose rows are measured one by one.
type Rows[R any] struct {
	Schema string         `json:"schema"`
	Steps  []R            `json:"steps"`
	Made   map[string]any `json:"made"`
}

// Keep replaces the row of the same name in a file, or adds it; order sorts rows, and those of one name are equal by it. Where
// the result is from is that of this row, with the packages of all and the highest shares that others took during any; it is of
// modified code, or of the quick form, if a row is.
func Keep[R interface{ run() Run }](file, schema string, row R, made map[string]any, order func(a, b R) int) error {
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
	all.Made["others"] = highest(all.Steps, func(r R) *float64 { return r.run().Others })
	all.Made["steal"] = highest(all.Steps, func(r R) *float64 { return r.run().Steal })
	all.Made["modified"] = slices.ContainsFunc(all.Steps, func(r R) bool { return r.run().Modified })
	if command := texts(made["command"]); slices.ContainsFunc(all.Steps, func(r R) bool { return r.run().Quick }) && !slices.Contains(command, quick) {
		all.Made["command"] = append(slices.Clone(command), quick)
	}
	return Write(file, all)
}

// quick is the flag of the quick form.
const quick = "--quick"

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
