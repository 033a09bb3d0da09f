package experiment

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

// reachTimeout bounds one attempt to reach a target: it allows for one lost SYN, which is sent
// again after 1 s.
const reachTimeout = 2 * time.Second

// reach connects once to each target that already runs, so that one which is absent, or whose
// certificate is not trusted, ends the experiment before the measurement. A target that stops
// answering later is measured. Processes that the lab starts are known to be ready.
func (x *executor) reach(ctx context.Context) error {
	if x.Scenario.Load.Kind == scenario.Jobs || len(x.Scenario.Companions) > 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, v := range x.variants {
		t := x.Scenario.TargetOf(v)
		if t.URL == "" || seen[t.URL] {
			continue
		}
		seen[t.URL] = true
		warning, err := x.runner.try(ctx, t.URL, v)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if warning != "" {
			x.exp.Warnings = append(x.exp.Warnings, warning)
			x.Progress.Say("warning: " + warning)
		}
	}
	return nil
}

// try sends a variant's first request to a target that already runs. It returns a warning if the
// answer does not count as a success, unless it may after the setup.
func (b *runner) try(ctx context.Context, target string, v scenario.Variant) (warning string, err error) {
	s := &environment{runner: b, fields: map[string]string{"target.url": target}}
	u, err := b.address(s, v)
	if err != nil {
		return "", err
	}
	requests, err := b.corpus(s, b.Scenario.LoadOf(v), u, runName(""), 0)
	if err != nil {
		return "", &ScenarioError{fmt.Errorf("load: %w", err)}
	}
	d, err := b.standard(u, requests)
	if err != nil {
		return "", &ScenarioError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	began := time.Now()
	status, err := d.Try(ctx)
	first := requests.Requests[0]
	if err != nil || status == 0 || len(b.Scenario.SetupOf(v)) > 0 || requests.Classes[first.Class].Check.PassStatus(status) {
		return "", err
	}
	return fmt.Sprintf("the target answered %d %s in %v, which does not count as a success: %s %s", status, http.StatusText(status),
		time.Since(began).Round(time.Millisecond/10), first.Method, record.RedactURL(u.Host+first.Path)), nil
}
