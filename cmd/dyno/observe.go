package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"dyno/cmd/dyno/looks"
	"dyno/cmd/dyno/usage"
	"dyno/lab/observe"
	"dyno/lab/probe/procfs"
	"dyno/lab/probe/profiling"
	"dyno/lab/report/format"

	"github.com/spf13/cobra"
)

// longest is the longest time for which dyno observe looks.
const longest = time.Hour

func newObserve() *cobra.Command {
	var (
		p                 looks.Plan
		metrics, fromFile string
		rate              float64
		insecure, asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "observe --debug URL",
		Short: "How busy is each resource of a service under the load that it has",
		Long: `Observe looks at a running service through its debug address (net/http/pprof), sends it no load, and prints how busy
its CPU, each lock, each single goroutine and each pool is, the busiest first, and what it could not see. It forecasts nothing:
what a service carries, only a load shows (dyno capacity).

It sends GET requests only. About every six seconds, at a random moment and 60 times at most, it takes a CPU profile of a second
and an execution trace of 0.3 s at most; where there is no trace, profiles of the goroutines. It stops tracing at 100 MB, or
when goroutines wait twice as long for a processor. Ctrl-C prints what is known until then.

--metrics names a page of metrics in the text format of Prometheus: for the rate of requests, and the CPU time of the process with
what the kernel does for it. Of a process on this machine, /proc has the CPU time. Only figures per request need the rate.`,
		Example: `  dyno observe --debug http://10.0.0.7:6060
  dyno observe --debug http://10.0.0.7:6060 --metrics http://10.0.0.7:9090/metrics --for 5m
  dyno observe --debug https://ops.example.com/inside --token-file token --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			switch {
			case p.Debug.URL == "":
				return usage.Errorf("--debug is missing: it takes the address at which the service serves /debug/pprof/, as in --debug http://10.0.0.7:6060")
			case p.For < looks.Least || p.For > longest:
				return usage.Errorf("--for takes %v to 1h, not %v", looks.Least, p.For)
			case p.PID < 0 || p.PID > 0 && !alive(p.PID):
				return usage.Errorf("--pid: there is no process %d on this machine; leave it out for one that runs elsewhere", p.PID)
			case p.Counter != "" && metrics == "":
				return usage.Errorf("--counter names a counter of the page of metrics: add --metrics URL")
			case fromFile != "" && p.Debug.Token != "":
				return usage.Errorf("--token and --token-file: give one of the two")
			case fromFile != "":
				if p.Debug.Token, err = firstLine(fromFile); err != nil {
					return usage.Errorf("--token-file: %w", err)
				}
			}
			if insecure {
				p.Debug.TLS = &tls.Config{InsecureSkipVerify: true}
			}
			if p.Debug.URL, err = schemed(p.Debug.URL); err != nil {
				return usage.Errorf("--debug: %w", err)
			}
			if metrics != "" {
				if p.Metrics, err = besides(p.Debug, metrics); err != nil {
					return usage.Errorf("--metrics: %w", err)
				}
			}
			if p.PID == 0 {
				p.PID, p.Guessed = local(p.Debug.URL), true
			}
			p.Say = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			return printObserved(cmd, p, rate, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Debug.URL, "debug", "", "debug address of the service, as in http://10.0.0.7:6060")
	f.StringVar(&metrics, "metrics", "", "URL of the service's page of metrics (Prometheus text)")
	f.StringVar(&p.Counter, "counter", "", "counter on that page that counts requests (default: the likeliest)")
	usage.Duration(f, &p.For, "for", "", time.Minute, "time for which it looks, 3s to 1h")
	usage.Rate(f, &rate, "rate", "", "requests per second that the service gets, if nothing else shows it")
	f.IntVar(&p.PID, "pid", 0, "process of the service on this machine (default: the one that listens at a loopback --debug)")
	f.StringVar(&p.Debug.Token, "token", "", "bearer token of the debug address (--metrics gets it on the same host and port only)")
	f.StringVar(&fromFile, "token-file", "", "file with that token on its first line")
	f.BoolVarP(&insecure, "insecure", "k", false, "trust any TLS certificate")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printObserved looks, and prints what was seen, also after an interrupt or if the process ended.
func printObserved(cmd *cobra.Command, p looks.Plan, rate float64, asJSON bool) error {
	facts, err := looks.Take(cmd.Context(), p)
	interrupted := cmd.Context().Err() != nil
	switch {
	case len(facts.Looks) == 0 && interrupted:
		return &exit{exitFailed, fmt.Errorf("%s: it was interrupted before the first look was complete, so nothing is known; nothing was changed", p.Debug)}
	case len(facts.Looks) == 0:
		return err
	case interrupted:
		err = errors.New("it was interrupted")
	}
	facts.Rate = rate
	return printFacts(cmd.OutOrStdout(), facts, err, asJSON)
}

// printFacts prints what was seen of a process. early is why the looks ended early; nil: they did not.
func printFacts(out io.Writer, facts observe.Facts, early error, asJSON bool) error {
	r := observe.Of(facts)
	var err error
	if asJSON {
		err = format.JSON(out, r)
	} else {
		_, err = io.WriteString(out, observationText(r, styleOf(os.Stdout).Width))
	}
	if err == nil && early != nil {
		err = &exit{exitFailed, fmt.Errorf("ended after %d of %d looks; the figures above are from those: %w", r.Looks, r.Planned, early)}
	}
	return err
}

// schemed returns a URL with its scheme, which is http if there is none.
func schemed(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a URL, as in http://10.0.0.7:6060", profiling.Address{URL: address})
	}
	return address, nil
}

// besides returns the address of the page of metrics. It has the credentials of the debug address
// only if it is at the same host and port.
func besides(debug profiling.Address, address string) (profiling.Address, error) {
	address, err := schemed(address)
	if err != nil {
		return profiling.Address{}, err
	}
	at := profiling.Address{URL: address, TLS: debug.TLS}
	a, _ := url.Parse(address)
	if b, err := url.Parse(debug.URL); err == nil && a.Scheme == b.Scheme && a.Host == b.Host && a.User == nil {
		at.Token = debug.Token
		if b.User != nil {
			a.User = b.User
			at.URL = a.String()
		}
	}
	return at, nil
}

// local returns the process that listens at a loopback address; 0: it is not known.
func local(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	pid, err := procfs.Listener(u.Host)
	if err != nil || pid == os.Getpid() {
		return 0
	}
	return pid
}

func firstLine(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s has no token on its first line", file)
	}
	return line, nil
}
