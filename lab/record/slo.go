package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/lab/record/quantity"
)

// Ends of an SLO's latency, which begins at the intended send time.
const (
	OnResponse = "response" // the answer to the request
	OnDelivery = "delivery" // the sink has received what the request sent
)

// SLO is the service level objective that a load must meet to count as carried. The zero SLO has
// no bounds.
type SLO struct {
	On      string             // OnResponse (also when empty) or OnDelivery
	Latency map[string]float64 // quantile name (p50 ... p999, max, mean) -> bound in ms
	Errors  float64            // highest share of requests that may fail; 0 allows none
	Gauges  map[string]float64 // the service's gauge -> upper bound (exclusive)
	// Frames is the fewest frames per second that 99% of the sessions receive; 0: no bound.
	Frames float64
}

// Bounded reports whether the SLO bounds anything but errors.
func (s SLO) Bounded() bool { return len(s.Latency) > 0 || len(s.Gauges) > 0 || s.Frames > 0 }

// quantileNames are the names that an SLO may bound, in order.
var quantileNames = []string{"p50", "p90", "p95", "p99", "p999", "max", "mean"}

// gaugeName matches the metric names that Prometheus accepts.
var gaugeName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// framesTerm begins the term of an SLO on frames.
const framesTerm = "frames>="

// DefaultErrors is the share of requests that may fail under an SLO without an errors term: among
// thousands of requests, one lost connection should not decide. errors=0% allows none.
const DefaultErrors = 0.001

// ParseSLO reads "p99=20ms,errors=0.1%,delivery,async_oldest_age_seconds<0.5".
func ParseSLO(s string) (SLO, error) {
	out, bounded := SLO{Errors: DefaultErrors}, map[string]string{}
	terms := strings.Split(s, ",")
	for i, term := range terms {
		if term = strings.TrimSpace(term); term == "" {
			continue
		}
		name, err := out.parseTerm(term)
		if i+1 < len(terms) && endsInDigit(term) && beginsWithDigit(terms[i+1]) {
			err = fmt.Errorf("write %s.%s, since a comma separates terms", term, strings.TrimSpace(terms[i+1]))
		}
		if before, twice := bounded[name]; err == nil && twice && before != term {
			err = fmt.Errorf("%s is bounded twice, by %s before", name, before)
		}
		if err != nil {
			return SLO{}, fmt.Errorf("SLO term %q: %w", term, err)
		}
		bounded[name] = term
	}
	if !out.Bounded() {
		return SLO{}, fmt.Errorf("SLO %q bounds no latency; write for example p99=20ms,errors=0.1%%", s)
	}
	return out, nil
}

func beginsWithDigit(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

func endsInDigit(s string) bool { return s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

// bounds are the signs between a term's name and its bound. A colon is one only in a term without
// another sign, since names of gauges may have colons.
const bounds = "<>=≤"

// parseTerm enters a term into the SLO, and returns the name of what it bounds.
func (s *SLO) parseTerm(term string) (name string, err error) {
	if term == OnDelivery || term == OnResponse {
		s.On = term
		return "on", nil
	}
	at := strings.IndexAny(term, bounds)
	if at < 0 {
		at = strings.IndexByte(term, ':')
	}
	if at < 0 {
		return "", fmt.Errorf("expected name=bound, as in p99=20ms or errors=0.1%%")
	}
	name = strings.TrimSpace(term[:at])
	value := strings.TrimLeft(term[at:], bounds+":")
	sign := strings.TrimSpace(term[at : len(term)-len(value)])
	value = strings.TrimSpace(value)
	if next := strings.IndexAny(value, bounds); next >= 0 {
		return name, fmt.Errorf("it has more than one bound; write a comma between terms, as in p99=20ms,errors=0.1%%")
	}
	known, near := observed(name)
	switch {
	case name+sign == framesTerm:
		least, err := strconv.ParseFloat(value, 64)
		if err != nil || !(least > 0) || math.IsInf(least, 0) {
			return name, fmt.Errorf("a bound on frames per second is a number above 0, as in %s29.5", framesTerm)
		}
		s.Frames = least
		return name, nil
	case strings.Contains(sign, ">"):
		return name, fmt.Errorf("a bound is the most that is permitted; write %s=%s", name, value)
	case known == "errors":
		s.Errors, err = ParseShare(value)
		if err == nil && s.Errors == 1 && !strings.HasSuffix(value, "%") {
			err = fmt.Errorf("it allows every request to fail; write errors=1%% or errors=100%%")
		}
		return known, err
	case known != "":
		bound, err := quantity.Duration(value)
		if hint := quantity.Hint(err); hint != "" {
			return known, fmt.Errorf("%q is not a duration: %s", value, hint)
		}
		if err != nil || bound <= 0 {
			return known, fmt.Errorf("%q is not a duration above 0, as in 20ms", value)
		}
		put(&s.Latency, known, float64(bound)/float64(time.Millisecond))
		return known, nil
	case near != "":
		return name, fmt.Errorf("unknown quantile %q; did you mean %s?", name, near)
	case sign != "<":
		return name, fmt.Errorf("unknown quantile %q; known are %s", name, strings.Join(quantileNames, ", "))
	}
	limit, err := strconv.ParseFloat(value, 64)
	if err != nil || !(limit > 0) {
		return name, fmt.Errorf("a gauge's bound is a number above 0, as in queue_depth<1000")
	}
	if !gaugeName.MatchString(name) {
		return name, fmt.Errorf("%q cannot be a gauge's name, which has letters, digits and _", name)
	}
	put(&s.Gauges, name, limit)
	return name, nil
}

// others are names that other tools give to what an SLO bounds.
var others = map[string]string{
	"median": "p50", "med": "p50", "avg": "mean", "average": "mean", "maximum": "max", "error": "errors", "err": "errors", "errs": "errors", "fail": "errors",
	"failed": "errors", "failures": "errors", "error_rate": "errors", "errorrate": "errors",
}

// observed returns the name of what an SLO bounds: a quantile, or errors. If the name is none
// but was probably meant as one, it returns that as near.
func observed(name string) (known, near string) {
	low := strings.ToLower(name)
	if _, ok := (Quantiles{}).At(low); ok || low == "errors" {
		return low, ""
	}
	digits := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, low)
	digits = strings.TrimLeft(digits, "0")
	quantile := "p" + digits
	if _, ok := (Quantiles{}).At(quantile); ok && digits != "" {
		switch strings.TrimSuffix(low, "%") {
		case "p99.9", "p99_9", "p(" + digits + ")", "p(99.9)":
			return quantile, ""
		case digits, digits + "p", digits + "th", "p" + digits, "q" + digits, "0." + digits, "99.9", "99.9th", "99.9p":
			return "", quantile
		}
	}
	return "", others[low]
}

// put adds a bound to bounds that may be nil.
func put(bounds *map[string]float64, name string, bound float64) {
	if *bounds == nil {
		*bounds = map[string]float64{}
	}
	(*bounds)[name] = bound
}

// ParseShare reads a share of 1: "0.1%" or "0.001".
func ParseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || v < 0 || v > 1 || v != v {
		return 0, fmt.Errorf("%q is not a share between 0 and 1, as in 0.1%% or 0.001", s)
	}
	return v, nil
}

// String writes the SLO the way ParseSLO reads it.
func (s SLO) String() string {
	var terms []string
	if s.On == OnDelivery {
		terms = append(terms, OnDelivery)
	}
	for _, name := range quantileNames {
		if ms, ok := s.Latency[name]; ok {
			terms = append(terms, name+"="+time.Duration(ms*float64(time.Millisecond)).String())
		}
	}
	if s.Bounded() || s.Errors > 0 {
		terms = append(terms, "errors="+strconv.FormatFloat(s.Errors*100, 'g', 6, 64)+"%")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Gauges)) {
		terms = append(terms, name+"<"+strconv.FormatFloat(s.Gauges[name], 'g', -1, 64))
	}
	if s.Frames > 0 {
		terms = append(terms, framesTerm+strconv.FormatFloat(s.Frames, 'g', -1, 64))
	}
	return strings.Join(terms, ",")
}

// Observed returns the quantiles that the SLO bounds.
func (s SLO) Observed(t Totals) Quantiles {
	if s.On == OnDelivery {
		return t.Delivery
	}
	return t.Response
}

// MarshalJSON writes {"on":"delivery","p99_ms":20,"errors":0.001,"gauges":{"queue_depth":1000}}.
func (s SLO) MarshalJSON() ([]byte, error) {
	m := map[string]any{"errors": s.Errors}
	if s.On != "" {
		m["on"] = s.On
	}
	for name, ms := range s.Latency {
		m[name+"_ms"] = ms
	}
	if len(s.Gauges) > 0 {
		m["gauges"] = s.Gauges
	}
	if s.Frames > 0 {
		m["frames_per_s"] = s.Frames
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *SLO) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*s = SLO{}
	for key, raw := range m { // other keys are a later version's
		var err error
		switch name, isLatency := strings.CutSuffix(key, "_ms"); {
		case key == "on":
			err = json.Unmarshal(raw, &s.On)
		case key == "errors":
			err = json.Unmarshal(raw, &s.Errors)
		case key == "gauges":
			err = json.Unmarshal(raw, &s.Gauges)
		case key == "frames_per_s":
			err = json.Unmarshal(raw, &s.Frames)
		case isLatency:
			var ms float64
			err = json.Unmarshal(raw, &ms)
			put(&s.Latency, name, ms)
		}
		if err != nil {
			return fmt.Errorf("slo %s: %w", key, err)
		}
	}
	return nil
}
