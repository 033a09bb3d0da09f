package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dyno/lab/load/raw"
)

// cost is what one run completed and what its process used.
type cost struct {
	completed int64
	cpu       time.Duration // user and system
	length    time.Duration
}

func (c cost) perMillion() float64 { return c.cpu.Seconds() / float64(c.completed) * 1e6 }
func (c cost) perSecond() float64  { return float64(c.completed) / c.length.Seconds() }

// measure runs a generator against a target for some time.
type measure func(ctx context.Context, url string, length time.Duration) (cost, error)

func contender(name string) (measure, error) {
	switch name {
	case "wrk":
		if _, err := exec.LookPath("wrk"); err != nil {
			return nil, errors.New("wrk is not installed: apt-get install wrk, or brew install wrk")
		}
		return runWrk, nil
	case "raw":
		return rawWith(""), nil
	case "raw-" + raw.BackendEpoll, "raw-" + raw.BackendUring:
		return rawWith(strings.TrimPrefix(name, "raw-")), nil
	}
	return nil, fmt.Errorf("contender %q: there are wrk, raw, raw-epoll and raw-uring", name)
}

func runWrk(ctx context.Context, url string, length time.Duration) (cost, error) {
	seconds := max(1, int(length.Seconds()))
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(connections), "-d"+strconv.Itoa(seconds), url)
	out, err := cmd.Output()
	if err != nil {
		return cost{}, fmt.Errorf("wrk: %w", err)
	}
	n, err := wrkCompleted(string(out))
	return used(cmd, n, time.Duration(seconds)*time.Second), err
}

var wrkRequests = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)

func wrkCompleted(out string) (int64, error) {
	m := wrkRequests.FindStringSubmatch(out)
	if m == nil || strings.Contains(out, "Socket errors") || strings.Contains(out, "Non-2xx") {
		return 0, fmt.Errorf("wrk did not run well:\n%s", out)
	}
	return strconv.ParseInt(m[1], 10, 64)
}

// rawWith runs this program again as a generator, so that nothing but generating is in its account.
func rawWith(backend string) measure {
	return func(ctx context.Context, url string, length time.Duration) (cost, error) {
		self, err := os.Executable()
		if err != nil {
			return cost{}, err
		}
		cmd := exec.CommandContext(ctx, self, driveWord, url, backend, length.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return cost{}, fmt.Errorf("raw engine: %w", err)
		}
		var d driven
		if err := json.Unmarshal(out, &d); err != nil {
			return cost{}, fmt.Errorf("raw engine: %w", err)
		}
		if d.Failed > 0 || d.Completed == 0 || backend != "" && d.Engine != "raw-"+backend {
			return cost{}, fmt.Errorf("raw engine %s completed %d requests, of which %d failed", d.Engine, d.Completed, d.Failed)
		}
		return used(cmd, d.Completed, length), nil
	}
}

// used reads a finished process's account.
func used(cmd *exec.Cmd, completed int64, length time.Duration) cost {
	return cost{completed, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), length}
}
