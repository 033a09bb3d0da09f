package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"dyno/parts/tracing"
)

// startTracer starts the export of traces if it was asked for.
func (p *process) startTracer() error {
	if p.options.otlp == "" {
		return nil
	}
	var err error
	p.tracer, err = tracing.Start(tracing.Config{URL: p.options.otlp, Service: p.service.Name, Rates: p.options.rates, Log: p.log})
	if err != nil {
		return usageError{fmt.Errorf("--otlp: %w", err)}
	}
	p.log = slog.New(tracing.Log(p.log.Handler()))
	return nil
}

// traced returns the handler with a span around each request; without --otlp, the handler itself.
func (p *process) traced(h http.Handler) (http.Handler, error) {
	if p.tracer == nil || h == nil {
		return h, nil
	}
	h, err := p.tracer.Routes(h)
	if err != nil {
		return nil, usageError{fmt.Errorf("--otlp-sample: %w", err)}
	}
	return h, nil
}

// countSpans shows what becomes of spans: a collector that is too slow is not seen otherwise.
func (p *process) countSpans(env *Env) error {
	if p.tracer == nil {
		return nil
	}
	counts := p.tracer.Counts
	return env.Expose("otlp_spans_", nil,
		Metric{Name: "ended_total", Help: "sampled spans", Read: func() float64 { return float64(counts().Ended) }},
		Metric{Name: "exported_total", Help: "of these, exported", Read: func() float64 { return float64(counts().Exported) }},
		Metric{Name: "failed_total", Help: "of these, refused by the collector or sent in vain", Read: func() float64 { return float64(counts().Failed) }})
}

// flush exports the last spans. It has its own time limit: a drain may have used up that of ctx.
func (p *process) flush(ctx context.Context) {
	if p.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracing.FlushTimeout)
	defer cancel()
	if err := p.tracer.Close(ctx); err != nil {
		p.log.Warn("traces are incomplete", "error", err.Error())
	}
	p.tracer = nil // once is enough
}
