package observe

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Reading is what counters said at a moment. Each is read at a time of its own.
type Reading struct {
	Looking bool    // the process was looked at since the previous reading
	Process *Point  // CPU time of the process, s, as the kernel counts it; nil: not read
	Page    *Page   // nil: not read
	Memory  *Memory // nil: not read
}

// Point is a counter at a time, in s since the first reading.
type Point struct{ At, Value float64 }

// Page is a page of metrics in the text format of Prometheus. A name without labels has the sum over
// all labels; a series has its labels as the page writes them.
type Page struct {
	At     float64
	Values map[string]float64
}

// Memory is what the runtime's statistics said.
type Memory struct {
	At        float64  `json:"-"`
	Heap      *float64 `json:"heap_bytes"` // objects, live or not yet swept; null: not known
	System    *float64 `json:"system_bytes"`
	Allocated *float64 `json:"allocated_bytes_per_s"` // over the observation
	Cycles    *float64 `json:"gc_cycles_per_s"`
	Live      *float64 `json:"goroutines"`
	Source    string   `json:"source,omitempty"`

	total, cycles float64
}

const (
	maxSeries = 100_000 // of a page
	maxLikely = 100     // counters of a page that may count requests, and are kept
)

// ParsePage reads a page of metrics; nil: it has more than maxSeries series. It skips lines that it does not
// understand: the page has other readers.
func ParsePage(text []byte, at float64) *Page {
	p := &Page{At: at, Values: map[string]float64{}}
	for encoded := range bytes.Lines(text) {
		line := strings.TrimSpace(string(encoded))
		end := seriesEnd(line)
		series, rest := line[:end], strings.Fields(line[end:])
		name, _, labelled := strings.Cut(series, "{")
		if name == "" || name[0] == '#' || len(rest) == 0 {
			continue
		}
		v, ok := count(rest[0])
		if !ok {
			continue
		}
		if p.Values[name] += v; labelled {
			p.Values[series] = v
		}
		if len(p.Values) > maxSeries {
			return nil
		}
	}
	return p
}

// seriesEnd is the length of a name and its labels at the beginning of a line; 0: they do not end. After the
// value, OpenMetrics permits an exemplar, which has labels, too.
func seriesEnd(line string) int {
	end := max(0, strings.IndexAny(line, "{ \t"))
	if end == len(line) || line[end] != '{' {
		return end
	}
	quoted := false
	for i := end; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return 0
}

// count reads the value of a counter. What is negative or beyond maxCount is none, so no sum of counters is
// infinite.
func count(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v >= 0 && v <= maxCount
}

const maxCount = 1e18

// Only returns the page with what a report may use, and the counter that is named: others can have
// thousands of series.
func (p *Page) Only(counter string) *Page {
	out := &Page{At: p.At, Values: map[string]float64{}}
	var names []string
	for name, v := range p.Values {
		switch {
		case name == counter, slices.Contains(used, name):
			out.Values[name] = v
		case likely(name) > 0:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxLikely)] {
		out.Values[name] = p.Values[name]
	}
	return out
}

// Metrics of Go's client library for Prometheus.
const (
	processSeconds = "process_cpu_seconds_total"
	processStart   = "process_start_time_seconds"
	processors     = "go_sched_gomaxprocs_threads"
)

var used = []string{processSeconds, processStart, processors}

// ParseMemory reads the runtime's statistics at the end of /debug/pprof/heap?debug=1; nil: there are
// none.
func ParseMemory(text []byte, at float64) *Memory {
	m := &Memory{At: at}
	found := false
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(bytes.TrimPrefix(line, []byte("# ")))), " = ")
		if !ok || !bytes.HasPrefix(line, []byte("# ")) {
			continue
		}
		v, ok := count(value)
		if !ok {
			continue
		}
		switch name {
		case "TotalAlloc":
			m.total, found = v, true
		case "HeapAlloc":
			m.Heap = &v
		case "Sys":
			m.System = &v
		case "NumGC":
			m.cycles = v
		}
	}
	if !found {
		return nil
	}
	return m
}

// pagesOf returns the pages of metrics, in order.
func pagesOf(readings []Reading) (out []*Page) {
	for _, r := range readings {
		if r.Page != nil {
			out = append(out, r.Page)
		}
	}
	return out
}

// grew returns the growth of a counter per second, between the times of its own two readings; false:
// it is not there, or fell.
func grew(pages []*Page, name string) (float64, bool) {
	if len(pages) < 2 {
		return 0, false
	}
	first, last := pages[0], pages[len(pages)-1]
	from, there := first.Values[name]
	to, still := last.Values[name]
	if took := last.At - first.At; there && still && took > 0 && to >= from {
		return (to - from) / took, true
	}
	return 0, false
}

// farApart is the time between two readings from which growth is a rate, in s.
const farApart = 2.0

// memory says how large the heap is and what is allocated, by the runtime's own counters.
func (s *seen) memory(readings []Reading) Memory {
	var all []*Memory
	for _, r := range readings {
		if r.Memory != nil {
			all = append(all, r.Memory)
		}
	}
	m := Memory{}
	if len(all) > 0 {
		first, last := all[0], all[len(all)-1]
		m = Memory{Heap: last.Heap, System: last.System, Source: "the runtime's statistics (/debug/pprof/heap?debug=1)"}
		if took := last.At - first.At; took >= farApart && last.total >= first.total {
			m.Allocated, m.Cycles = new((last.total-first.total)/took), new((last.cycles-first.cycles)/took)
		}
	}
	if s.live > 0 {
		m.Live = new(s.live)
	}
	return m
}

// Rate is how many requests per second the process served.
type Rate struct {
	PerS   float64 `json:"per_s"`
	Source string  `json:"source"`
	// CPUMicros is the CPU time of a request, and Allocated the bytes that it allocates; null: not
	// known.
	CPUMicros *float64 `json:"cpu_us_per_request"`
	Allocated *float64 `json:"allocated_bytes_per_request"`
}

// rate finds the rate: by a counter that is named, by the likeliest counter, by the requests in the
// traces, or as the user knows it.
func (s *seen) rate(f Facts) *Rate {
	r := s.counted(f)
	if r == nil || r.PerS <= 0 {
		return r
	}
	if c := s.cpu(f); c.Cores != nil {
		r.CPUMicros = new(1e6 * *c.Cores / r.PerS)
	}
	if m := s.memory(f.Readings); m.Allocated != nil {
		r.Allocated = new(*m.Allocated / r.PerS)
	}
	return r
}

func (s *seen) counted(f Facts) *Rate {
	pages := pagesOf(f.Readings)
	if v, ok := grew(pages, f.Counter); ok && f.Counter != "" {
		return &Rate{PerS: v, Source: "the counter " + f.Counter}
	}
	if name, others := likeliest(pages); name != "" && f.Counter == "" {
		v, _ := grew(pages, name)
		source := "the counter " + name + " of the page of metrics"
		if len(others) > 0 {
			source += " (others: " + strings.Join(others[:min(len(others), 3)], ", ") + "; name one with --counter)"
		}
		return &Rate{PerS: v, Source: source}
	}
	requests := 0
	for _, g := range s.merged.Groups {
		if startsPerRequest(g.Entry.Function) {
			requests += g.Started
		}
	}
	if requests > 0 && !s.moments {
		return &Rate{PerS: float64(requests) / s.merged.Seconds, Source: fmt.Sprintf("%d requests in the traces, give or take %s", requests, Percent(2/math.Sqrt(float64(requests))))}
	}
	if f.Rate > 0 {
		return &Rate{PerS: f.Rate, Source: "--rate"}
	}
	return nil
}

// startsPerRequest reports whether servers start one goroutine with the function for each request.
func startsPerRequest(function string) bool {
	switch function {
	case "net/http.(*connReader).backgroundRead", "net/http.(*http2serverConn).runHandler", "golang.org/x/net/http2.(*serverConn).runHandler":
		return true
	}
	return strings.HasPrefix(function, "google.golang.org/grpc.(*Server).serveStreams.func")
}

// likeliest returns the counter that most likely counts the requests which the process serves, and
// the others that may. Those of requests that it sends, of failures, and of its own pages do not, nor those
// that did not grow: libraries register counters that no request uses.
func likeliest(pages []*Page) (name string, others []string) {
	best := 0
	if len(pages) < 2 {
		return "", nil
	}
	for _, n := range slices.Sorted(maps.Keys(pages[0].Values)) {
		if v, ok := grew(pages, n); !ok || v == 0 {
			continue
		}
		points := likely(n)
		switch {
		case points == 0:
		case points > best:
			if name != "" {
				others = append(others, name)
			}
			name, best = n, points
		default:
			others = append(others, n)
		}
	}
	return name, others
}

// likely scores the name of a counter; 0: it does not count the requests of clients.
func likely(name string) int {
	for _, not := range []string{"client", "promhttp", "outgoing", "outbound", "upstream", "egress", "downstream", "backend", "error", "fail", "reject", "drop", "retr", "refus", "cancel", "in_flight", "size", "bytes"} {
		if strings.Contains(name, not) {
			return 0
		}
	}
	requests := strings.HasSuffix(name, "requests_total") || strings.HasSuffix(name, "request_duration_seconds_count") ||
		strings.HasSuffix(name, "requests_seconds_count") || name == "grpc_server_handled_total"
	switch {
	case !requests:
		return 0
	case strings.Contains(name, "server"):
		return 3
	case strings.Contains(name, "http"):
		return 2
	}
	return 1
}
