package tracing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Others stands for all routes that Rates does not list.
const Others = "*"

// Rates is the share of recorded traces among those that begin here, by route: a pattern such as
// "POST /v1/notices". For a request with a traceparent, its caller's decision holds, and then
// SamplingHeader.
type Rates map[string]float64

// SamplingHeader is the header field by which a client sets the rate for its own request, from 0 to
// 1, in place of the route's. Before it, a traceparent decides.
const SamplingHeader = "X-Trace-Sampling"

// asked is the key of the rate that a client has set, in a context.
type asked struct{}

// WithSampling returns a context with the rate that a request's client has set, if it has. A
// handler that Routes or Wrap returns does so.
func WithSampling(ctx context.Context, h Header) context.Context {
	text := h.Get(SamplingHeader)
	if text == "" {
		return ctx
	}
	if rate, err := parseRate(text); err == nil {
		return context.WithValue(ctx, asked{}, rate)
	}
	return ctx // it is the client's mistake, and the request is not about traces
}

// Asked returns the rate that a request's client has set; false: none.
func Asked(ctx context.Context) (rate float64, ok bool) {
	rate, ok = ctx.Value(asked{}).(float64)
	return rate, ok
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err == nil && !(rate >= 0 && rate <= 1) { // also excludes NaN
		err = strconv.ErrRange
	}
	return rate, err
}

// ParseRates reads rates, each from 0 to 1.
func ParseRates(texts map[string]string) (Rates, error) {
	rates := Rates{}
	for _, route := range slices.Sorted(maps.Keys(texts)) {
		rate, err := parseRate(texts[route])
		if err != nil {
			return nil, fmt.Errorf("rate %q of route %q is not between 0 and 1", texts[route], route)
		}
		rates[route] = rate
	}
	return rates, nil
}

// Of returns the rate of a route.
func (r Rates) Of(route string) float64 {
	if rate, ok := r[route]; ok {
		return rate
	}
	return r[Others]
}

// Sampler returns what decides on spans by these rates.
func (r Rates) Sampler() sdk.Sampler {
	routes := byRoute{}
	for route, rate := range r {
		routes[route] = sdk.TraceIDRatioBased(rate)
	}
	if routes[Others] == nil {
		routes[Others] = sdk.NeverSample()
	}
	return sdk.ParentBased(routes)
}

// byRoute decides by the name of the root span, which is its route, unless the client has set a
// rate.
type byRoute map[string]sdk.Sampler

func (s byRoute) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if own, ok := Asked(p.ParentContext); ok {
		return sdk.TraceIDRatioBased(own).ShouldSample(p)
	}
	if one, ok := s[p.Name]; ok {
		return one.ShouldSample(p)
	}
	return s[Others].ShouldSample(p)
}

func (s byRoute) Description() string { return "RatesByRoute" }
