package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Status is the result of a check.
type Status string

const (
	OK   Status = "ok"
	Warn Status = "warn" // figures are usable with care, or the property could not be read
	Bad  Status = "bad"  // figures measured on this machine mislead
)

// Check is one examined property.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Value  string `json:"value"`          // its value, with the unit
	Means  string `json:"means"`          // its effect on a measurement
	Fix    string `json:"fix,omitempty"`  // the fix; empty if it is fine or nothing can be done
	OldFix string `json:"mend,omitempty"` // Fix under its first name
}

// host is the machine under examination. Tests replace all of it.
type host struct {
	files fs.FS // the root of the file system
	cores int   // number of cores that this process may use
	root  bool  // this process has every privilege

	openFiles  func() (uint64, error)                // soft limit
	realtime   func() error                          // nil: a thread may run at real-time priority
	uring      func() error                          // nil: io_uring may be used
	wakeups    func(context.Context) (wakeup, error) // sleeps a few hundred times
	selfCPU    func() (s float64, ok bool)           // CPU time that this process has used
	waitSecond func(context.Context) error
	now        func() time.Time

	holdLatency func() (release func(), held bool, why string) // holds the CPUs' wake-up latency at 0

	seen    *watched // the machine's activity over a second; nil: not watched yet
	seenErr error
}

// check is one row of the examination.
type check struct {
	name    string
	setting bool // a setting or a limit: stored with results; reading it takes no time
	look    func(context.Context, *host) Check
}

// all lists the checks in display order.
var all = []check{
	{"cores", false, cores},
	{"smt", true, smt},
	{"cgroup-cpu", true, cgroupCPU},
	{"cgroup-memory", true, cgroupMemory},
	{"neighbours", false, neighbours},
	{"steal", false, steal},
	{"pm-qos", false, wakeLatency},
	{"governor", true, governor},
	{"clocksource", true, clocksource},
	{"wake-up", false, wakeUp},
	{"timer-slack", true, timerSlack},
	{"real-time", true, realtime},
	{"autogroup", true, autogroup},
	{"numa-balancing", true, numaBalancing},
	{"thp", true, hugePages},
	{"swap", true, swap},
	{"somaxconn", true, somaxconn},
	{"ephemeral-ports", true, ephemeralPorts},
	{"time-wait", false, timeWait},
	{"open-files", true, openFiles},
	{"io_uring", true, ioURing},
	{"perf-events", true, perfEvents},
}

// Examine runs all checks. It takes one to two seconds, one of which it spends watching what other
// processes use. If ctx ends first, the checks that need a measurement report that it is missing.
func Examine(ctx context.Context) []Check { return examine(ctx, thisHost()) }

func examine(ctx context.Context, h *host) []Check {
	out := make([]Check, 0, len(all))
	for _, c := range all {
		found := c.look(ctx, h)
		found.Name, found.OldFix = c.name, found.Fix
		out = append(out, found)
	}
	return out
}

// Summary returns one line that says whether the machine is fit to measure on, and what the main
// problem is.
func Summary(checks []Check) string {
	var bad, warned []string
	for _, c := range checks {
		switch c.Status {
		case Bad:
			bad = append(bad, c.Name+": "+c.Value)
		case Warn:
			warned = append(warned, c.Name)
		}
	}
	warnings := fmt.Sprintf("%d warnings", len(warned))
	if len(warned) == 1 {
		warnings = "1 warning"
	}
	switch {
	case len(bad) > 0:
		return fmt.Sprintf("Not fit to measure now: %s (%d bad, %s).", strings.Join(bad, "; "), len(bad), warnings)
	case len(warned) > 0:
		return fmt.Sprintf("Fit to measure, with %s: %s.", warnings, strings.Join(warned, ", "))
	}
	return "Fit to measure."
}

// Settings returns the values of the checks of settings and limits, by name. The lab stores them
// with a result, to explain it later.
func Settings() map[string]string { return settings(thisHost()) }

func settings(h *host) map[string]string {
	out := map[string]string{}
	for _, c := range all {
		if c.setting {
			out[c.name] = c.look(context.Background(), h).Value
		}
	}
	return out
}

// unread returns the check of a figure that could not be read.
func unread(err error, means string) Check {
	why := err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "this system does not show it"
	case errors.Is(err, fs.ErrPermission):
		why = "no permission to read it"
	}
	return Check{Status: Warn, Value: "not known: " + why, Means: means}
}

// absent returns the check of a mechanism that this kernel does not have.
func absent(means string) Check { return Check{Status: OK, Value: "not in this kernel", Means: means} }

// text reads a small file and trims white space.
func (h *host) text(path string) (string, error) {
	b, err := fs.ReadFile(h.files, path)
	return strings.TrimSpace(string(b)), err
}

// number reads a file that holds one number.
func (h *host) number(path string) (int64, error) {
	s, err := h.text(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

func thisHost() *host {
	h := &host{files: os.DirFS("/"), cores: runtime.NumCPU(), root: os.Geteuid() == 0, now: time.Now, holdLatency: Hold}
	h.bind()
	return h
}
