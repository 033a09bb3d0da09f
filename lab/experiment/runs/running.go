package runs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"dyno/lab/experiment/environment"
	"dyno/lab/probe/profiling"
)

// Doubts returns what is doubtful about the processes and debug addresses of targets that the lab
// does not start. It is called before anything is measured, and returns an error if a debug
// address does not answer.
func (b *Runner) Doubts(ctx context.Context) (doubts []string, err error) {
	seen := map[string]bool{}
	for _, v := range b.Generator.Programs.Variants {
		t := b.Generator.Scenario.TargetOf(v)
		if t.URL == "" || seen[t.URL+" "+t.Debug] || !b.Generator.Scenario.Load.Traits().Sends {
			continue
		}
		seen[t.URL+" "+t.Debug] = true
		agent := false
		if t.Debug != "" {
			debug, err := b.Generator.Programs.Running(t.URL).Expand("target.debug", t.Debug)
			if err != nil {
				continue // it contains fields of processes that are not started yet
			}
			d := ""
			if d, agent, err = b.doubtOfDebug(ctx, debug, b.Generator.Scenario.LoadOf(v).URL); err != nil {
				return doubts, err
			}
			if d != "" {
				doubts = append(doubts, d)
			}
		}
		if d := environment.Doubt(b.Generator.Programs.PID, t.URL); d != "" && (b.Generator.Programs.PID != 0 || !agent) { // an agent reports its own process
			doubts = append(doubts, d)
		}
	}
	return doubts, nil
}

// doubtOfDebug checks what a debug address serves; agent reports whether it is the agent.
func (b *Runner) doubtOfDebug(ctx context.Context, debug, loaded string) (doubt string, agent bool, err error) {
	at, err := b.Generator.Debug(debug, b.Token)
	if err != nil {
		return "", false, err
	}
	client := profiling.New(at)
	_, agentless := client.Info(ctx)
	client.Close()
	if agentless != nil && !errors.Is(agentless, profiling.ErrNoAgent) {
		return "", false, fmt.Errorf("%w; start the service with its debug address, or leave --debug out", agentless)
	}
	same := samePlace(debug, loaded)
	if agentless != nil {
		profiles := profiling.Pprof(ctx, at)
		refused := refusals(agentless, profiles)
		switch {
		case ctx.Err() != nil:
			return "", false, ctx.Err()
		case profiles != nil && same:
			return refused[0] + "; that is the address of the load: name the one at which the service has net/http/pprof (--debug), or leave it out", false, nil
		case profiles != nil && profiling.Refused(profiles):
			return refused[0] + "; without them, the service is seen from outside only", false, nil
		case profiles != nil:
			return refused[0] + "; name the address and path at which the service has net/http/pprof (--debug), or leave it out", false, nil
		case len(refused) > 0:
			return refused[0], false, nil
		}
	}
	if same {
		return "the load goes to the debug address: if the service has an address of its own, load that; if it serves both here, requests for profiles wait in line with the load's", agentless == nil, nil
	}
	return "", agentless == nil, nil
}

// samePlace reports whether two URLs have the same host and port.
func samePlace(a, b string) bool {
	if !strings.Contains(a, "://") {
		a = "http://" + a
	}
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Host != "" && strings.EqualFold(x.Host, y.Host)
}
