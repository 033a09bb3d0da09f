package live

import (
	"bytes"
	"context"
	"fmt"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/html"
	"dyno/lab/report/view"
)

// Bounds on the cached reports. A page has a few MB, an answer a few hundred bytes.
const (
	maxReports = 6
	maxAnswers = 4000
)

// reports builds reports on request, one at a time, and caches the last ones: a build reads every
// run, and should use at most one core, since a measurement may be in progress.
type reports struct {
	index    *index
	building chan struct{} // one token
	built    *cache[*built]
	answers  *cache[answer]
}

// built is an experiment's report.
type built struct {
	report *report.Report
	page   []byte
}

// answer is a report in one sentence.
type answer struct {
	Answer  string `json:"answer"`
	Invalid bool   `json:"invalid"`
	Runs    int    `json:"runs"`
	Valid   int    `json:"valid"`

	metric string                     // of the answer
	ratios map[string][]view.RatioRow // of the variants, by metric
}

func newReports(s *index) *reports {
	return &reports{index: s, building: make(chan struct{}, 1), built: newCache[*built](maxReports), answers: newCache[answer](maxAnswers)}
}

// take waits for the token to build.
func (r *reports) take(ctx context.Context) (release func(), err error) {
	select {
	case r.building <- struct{}{}:
		return func() { <-r.building }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for another report to be built: %w", ctx.Err())
	}
}

// of returns an experiment's report for the current state of its folder.
func (r *reports) of(ctx context.Context, name string) (*built, error) {
	h, err := r.index.head(name)
	if err != nil {
		return nil, err
	}
	if b, ok := r.built.get(name, h.Stamp); ok {
		return b, nil
	}
	release, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if b, ok := r.built.get(name, h.Stamp); ok { // built by the previous holder of the token
		return b, nil
	}
	exp, err := r.read(name)
	if err != nil {
		return nil, err
	}
	b := &built{report: report.Build(exp)}
	var page bytes.Buffer
	if err := html.Page(&page, b.report); err != nil {
		return nil, err
	}
	b.page = page.Bytes()
	r.built.put(name, h.Stamp, b)
	r.answers.put(name, h.Stamp, answerOf(b))
	return b, nil
}

// read reads a whole experiment. The caller holds the token.
func (r *reports) read(name string) (*record.Experiment, error) {
	if err := r.index.validate(name); err != nil {
		return nil, err
	}
	return folder.Open(r.index.dirOf(name))
}

func (r *reports) answer(ctx context.Context, name string) (answer, error) {
	h, err := r.index.head(name)
	if err != nil {
		return answer{}, err
	}
	if a, ok := r.answers.get(name, h.Stamp); ok {
		return a, nil
	}
	b, err := r.of(ctx, name)
	if err != nil {
		return answer{}, err
	}
	return answerOf(b), nil
}

func answerOf(b *built) answer {
	all, valid := b.report.Count()
	out := answer{Answer: b.report.Answer, Invalid: b.report.Invalid != "", Runs: all, Valid: valid, metric: b.report.RatioMetric, ratios: ratiosOf(b.report)}
	if c := b.report.Comparison; c != nil {
		out.metric = c.Metric
	}
	return out
}
