// Package stored says where a result of docs/results is from: the commit of the program that was
// measured, and what others took of the machine meanwhile. It is for the commands of bench that make such
// results; what dyno prints says it itself (lab/report).
package stored

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
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
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(8, len(s.Value))]
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, modified, nil
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

// Highest returns the highest share of the rows; nil: that of a row is not known.
func Highest[R any](rows []R, of func(R) *float64) (most *float64) {
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
