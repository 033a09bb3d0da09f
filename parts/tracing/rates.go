package tracing

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Others stands for all routes that Rates does not list.
const Others = "*"

// Rates is the share of recorded traces among those that begin here, by route: a pattern such as
// "POST /v1/notices". For a request with a traceparent, its caller's decision holds.
type Rates map[string]float64

// ParseRates reads rates, each from 0 to 1.
func ParseRates(texts map[string]string) (Rates, error) {
	rates := Rates{}
	for _, route := range slices.Sorted(maps.Keys(texts)) {
		rate, err := strconv.ParseFloat(texts[route], 64)
		if err != nil || !(rate >= 0 && rate <= 1) { // also excludes NaN
			return nil, fmt.Errorf("rate %q of route %q is not between 0 and 1", texts[route], route)
		}
		rates[route] = rate
	}
	return rates, nil
}

func (r Rates) sampler() sdk.Sampler {
	routes := byRoute{}
	for route, rate := range r {
		routes[route] = sdk.TraceIDRatioBased(rate)
	}
	if routes[Others] == nil {
		routes[Others] = sdk.NeverSample()
	}
	return sdk.ParentBased(routes)
}

// byRoute decides by the name of the root span, which is its route.
type byRoute map[string]sdk.Sampler

func (s byRoute) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if one, ok := s[p.Name]; ok {
		return one.ShouldSample(p)
	}
	return s[Others].ShouldSample(p)
}

func (s byRoute) Description() string { return "RatesByRoute" }
