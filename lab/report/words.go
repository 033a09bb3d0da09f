package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"dyno/lab/record"
)

// dash stands for an unknown value.
const dash = "–"

// roleNames name the roles whose own name is not clear.
var roleNames = map[string]string{
	record.RoleAblation: "leave one out", record.RoleSingle: "single load",
	record.RoleTraced: "trace", record.RoleIntervene: "change one thing",
}

// roleWords name the purpose of a run.
func roleWords(role string) string { return cmp.Or(roleNames[role], role) }

// Title names what was measured, and how: notify (ladder), 127.0.0.1:8080/orders/7 (load).
func Title(e *record.Experiment) string {
	name := Subject(e)
	if name == e.Service && e.Name != e.Service {
		name = strings.TrimSpace(e.Service + " " + e.Name)
	}
	return strings.TrimSpace(name + " (" + cmp.Or(kindWords[e.Kind], e.Kind) + ")")
}

// Subject names the target: a service, or its address without the scheme and the part after the
// path.
func Subject(e *record.Experiment) string {
	var found []string
	for i, arg := range e.Command {
		if e.Scenario != "" || i > 0 && strings.HasPrefix(e.Command[i-1], "--") {
			continue // the values of --debug and similar flags are other addresses
		}
		if u, err := url.Parse(arg); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			found = append(found, u.Host+strings.TrimSuffix(u.EscapedPath(), "/"))
		}
	}
	return cmp.Or(strings.Join(found, " and "), e.Service, e.Name)
}

// figure writes about three significant digits, thousands separated, with as many decimals as its
// neighbours in a column: 9,810, 123, 12.3, 1.23, 0.045.
func figure(v Value) string {
	f := float64(v)
	switch a := math.Abs(f); {
	case !v.Known():
		return dash
	case f == 0:
		return "0"
	case a >= 999.5:
		return separate(significant(f, 3))
	case a >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return digits(f, 2)
}

// round formats a configured figure, such as a bound: 100, 20, 0.5.
func round(v Value) string {
	if math.Abs(float64(v)) >= 1000 {
		return figure(v)
	}
	return digits(float64(v), 3)
}

// whole formats a count that may be unknown.
func whole(v Value) string {
	if !v.Known() {
		return dash
	}
	return separate(float64(v))
}

// count writes a whole number in full: 1,234,567.
func count(n int64) string { return separate(float64(n)) }

// separate puts a comma before each group of three digits.
func separate(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// rate writes a rate: 9,810/s.
func rate(v Value) string {
	if !v.Known() {
		return dash
	}
	return figure(v) + "/s"
}

// times writes a ratio with two decimals: 3.10x.
func times(v Value) string {
	if !v.Known() {
		return dash
	}
	return strconv.FormatFloat(float64(v), 'f', 2, 64) + "x"
}

// between writes an interval of figures: [9,500, 10,100].
func between(i *Interval) string {
	if i == nil {
		return ""
	}
	return "[" + figure(Value(i.Lo)) + ", " + figure(Value(i.Hi)) + "]"
}

// betweenRatios writes an interval of ratios: [2.90, 3.40].
func betweenRatios(i *Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("[%.2f, %.2f]", i.Lo, i.Hi)
}

// percent formats a share: 0.1%. Shares too small to measure are not written out.
func percent(v Value) string {
	switch {
	case !v.Known():
		return dash
	case v > 0 && v < 1e-6:
		return "<0.0001%"
	}
	return digits(float64(v)*100, 3) + "%"
}

// size writes a number of bytes in binary units: 12.3 MiB.
func size(v Value) string {
	if !v.Known() {
		return dash
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(v), 0
	for math.Abs(f) >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return figure(Value(f)) + " " + units[u]
}

// latencyWords write the latencies that an SLO bounds: "delivery p99 <= 100 ms".
func latencyWords(s record.SLO) string {
	on := ""
	if s.On == record.OnDelivery {
		on = "delivery "
	}
	var terms []string
	for _, q := range quantiles {
		if ms, ok := s.Latency[q.name]; ok {
			terms = append(terms, fmt.Sprintf("%s%s <= %s ms", on, q.label, round(Value(ms))))
		}
	}
	return strings.Join(terms, ", ")
}

// sloWords write all of an SLO: "delivery p99 <= 100 ms, errors <= 0.1%, queue_depth < 1,000".
func sloWords(s record.SLO) string {
	var terms []string
	if latency := latencyWords(s); latency != "" {
		terms = append(terms, latency)
	}
	switch {
	case s.Errors > 0:
		terms = append(terms, "errors <= "+percent(Value(s.Errors)))
	case bounds(s):
		terms = append(terms, "no errors")
	}
	for _, g := range slices.Sorted(maps.Keys(s.Gauges)) {
		terms = append(terms, fmt.Sprintf("%s < %s", g, round(Value(s.Gauges[g]))))
	}
	return strings.Join(terms, ", ")
}

// quantiles are the quantiles a report shows, in order.
var quantiles = []struct {
	name, label string
	share       float64 // of the requests at or below it; -1: not a share
}{
	{"p50", "p50", 0.5}, {"p90", "p90", 0.9}, {"p95", "p95", 0.95}, {"p99", "p99", 0.99},
	{"p999", "p99.9", 0.999}, {"max", "max", -1}, {"mean", "mean", -1},
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(int64(n)) + " " + thing + "s"
}

// clock formats a time identically everywhere, so that two reports can be compared.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// commandLine formats a command that can be pasted into a shell.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

func quote(a string) string {
	plain := a != "" && strings.IndexFunc(a, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=,@%+", c))
	}) < 0
	if plain {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// visible removes control characters and marks that change the writing direction. Line ends and
// tabs become spaces.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t' || c == '\n' || c == '\r':
			return ' '
		case unicode.IsControl(c) || c == unicode.ReplacementChar || unicode.In(c, unicode.Cf):
			return -1
		}
		return c
	}, s)
}

// p99Bound is the SLO's bound on p99, if it has one.
func p99Bound(s record.SLO) Value {
	if ms, ok := s.Latency["p99"]; ok {
		return Value(ms)
	}
	return Unknown
}

// countWords state how many runs count.
func countWords(all, valid int) string {
	switch {
	case all == 1 && valid == 1:
		return "the run counts"
	case all == valid:
		return "all " + plural(all, "run") + " count"
	}
	return fmt.Sprintf("%d of %s count", valid, plural(all, "run"))
}

func metWords(met bool, invalid string) string {
	switch {
	case invalid != "":
		return "invalid: " + invalid
	case met:
		return "met"
	}
	return "missed"
}

// space adds a leading space to a non-empty text.
func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// at adds a leading " at " to a non-empty text.
func at(s string) string {
	if s == "" {
		return ""
	}
	return " at " + s
}

// pauseWords format a bound: 50 us, 2 ms, 1 s.
func pauseWords(ms float64) string {
	switch {
	case ms < 0.9995:
		return round(Value(ms*1000)) + " us"
	case ms < 999.5:
		return round(Value(ms)) + " ms"
	}
	return round(Value(ms/1000)) + " s"
}
