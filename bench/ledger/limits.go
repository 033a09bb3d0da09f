package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"dyno/lab/target"
	"dyno/parts/process"
)

// budget is what a server with limits gives to one address.
type budget struct {
	limits   string
	servers  int
	requests float64 // per second
	bytes    float64 // per second; 0: no limit

	most   float64       // requests per second that it may answer for a while
	settle time.Duration // until the budget is known, beside the warm-up
}

// The budgets are those of the simulator, which are the real ones. One rippled is as much as two cores carry.
//
// Clio's bytes are some five ledgers a second: a first look beyond what was found comes after 64 of them, 12 s, and is
// refused some 10 s later; then they become rare. Rippled's is a balance that decays in 32 s: it warns at 250 requests/s
// that last, which costs as much as 200 requests, and refuses five times as many. A first look beyond what was found is
// over after a minute and a half.
var (
	clio    = budget{limits: "clio", servers: 2, requests: 20, bytes: 1_000_000, most: 20, settle: 45 * time.Second}
	rippled = budget{limits: "rippled", servers: 1, requests: 250, most: 1250, settle: 105 * time.Second}
	budgets = []budget{clio, rippled}
)

// usage is what a run with limits showed.
type usage struct {
	share   float64 // of the budget that binds
	refused float64 // share of the requests
}

// injected is what a simulator tells of itself.
type injected struct {
	Answers, Bytes, Warned, Refused int64
}

// limited measures how much of their budgets servers with limits are asked for.
func limited(l budget) func(*bench, context.Context, *report) error {
	return func(b *bench, ctx context.Context, r *report) error {
		for round := range b.pairs {
			u, err := b.use(ctx, l)
			if err != nil {
				return fmt.Errorf("limits %s: %w", l.limits, err)
			}
			say("round %d of %d: limits %s: %.1f%% of the budget, %.3f%% refused", round+1, b.pairs, l.limits, 100*u.share, 100*u.refused)
			r.usage[l.limits] = append(r.usage[l.limits], u)
		}
		return nil
	}
}

func (b *bench) use(ctx context.Context, l budget) (u usage, err error) {
	ledgers := int(l.most*float64(l.servers)*(l.settle+b.warm+b.long).Seconds()) + 100 // more than can be had
	data, err := os.MkdirTemp(b.work, "data-")
	if err != nil {
		return u, err
	}
	defer os.RemoveAll(data)
	command := append(b.sync(data, "L2"), "--from", strconv.Itoa(first), "--to", strconv.Itoa(first+ledgers-1))
	var sims []*process.Process
	for range l.servers {
		s, err := b.sim(ctx, l.limits, ledgers)
		if err != nil {
			return u, err
		}
		defer s.Stop(grace)
		sims = append(sims, s)
		command = append(command, "--server", url(s))
	}
	p, err := target.Start(ctx, process.Spec{Name: "ledgersync", Command: command, Stdout: io.Discard})
	if err != nil {
		return u, err
	}
	defer p.Stop(grace)
	if err := wait(ctx, p, l.settle+b.warm); err != nil {
		return u, err
	}
	begin := time.Now()
	before, err := all(ctx, sims)
	if err == nil {
		err = wait(ctx, p, b.long)
	}
	if err != nil {
		return u, err
	}
	after, err := all(ctx, sims)
	if err != nil {
		return u, err
	}
	return l.judge(before, after, time.Since(begin)), nil
}

// judge says how much of the budget was used.
func (l budget) judge(before, after injected, took time.Duration) (u usage) {
	answers, refused := float64(after.Answers-before.Answers), float64(after.Refused-before.Refused)
	budget := took.Seconds() * float64(l.servers)
	u.share = answers / (l.requests * budget)
	if l.bytes > 0 {
		u.share = max(u.share, float64(after.Bytes-before.Bytes)/(l.bytes*budget))
	}
	if answers+refused > 0 {
		u.refused = refused / (answers + refused)
	}
	return u
}

// wait lets a process work for so long.
func wait(ctx context.Context, p *process.Process, d time.Duration) error {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-limit.C:
		return nil
	case <-p.Exited():
		return errors.Join(errors.New("it ended while it was measured"), p.Err(), errors.New(p.LogTail(5)))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// all adds up what simulators tell.
func all(ctx context.Context, sims []*process.Process) (sum injected, err error) {
	for _, s := range sims {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url(s)+"/sim/injected", nil)
		if err != nil {
			return sum, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return sum, err
		}
		var i injected
		err = json.NewDecoder(resp.Body).Decode(&i)
		resp.Body.Close()
		if err != nil {
			return sum, err
		}
		sum.Answers, sum.Bytes, sum.Warned, sum.Refused = sum.Answers+i.Answers, sum.Bytes+i.Bytes, sum.Warned+i.Warned, sum.Refused+i.Refused
	}
	return sum, nil
}
