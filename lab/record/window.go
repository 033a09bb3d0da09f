package record

import (
	"math"
	"time"
)

// Phases of a run; each window belongs to one.
const (
	PhaseWarmup  = "warmup"
	PhaseMeasure = "measure"
	PhaseDrain   = "drain"   // after the last request was due, while requests in flight may still finish
	PhaseProfile = "profile" // while a profile was taken: latency from here is never reported
)

// Window is one line of series.ndjson: 100 ms as seen by the client and by the server.
type Window struct {
	Start  int64   `json:"t_ns"`
	Phase  string  `json:"phase"`
	Client Client  `json:"client"`
	Server *Server `json:"server,omitempty"` // nil: the target could not be observed
}

// Client is the load generator's view of a window. A request counts as Offered in the window of its
// intended send time; everything else counts in the window in which it happened.
type Client struct {
	Offered   int64 `json:"offered"`
	Sent      int64 `json:"sent"`
	Ended     int64 `json:"completed"` // ended: answered (success or failure), or broken off
	Failed    int64 `json:"failed"`    // the part of Completed that ended in an error or failed a check
	Delivered int64 `json:"delivered,omitempty"`
	Refused   int64 `json:"refused,omitempty"` // rejected in good order (HTTP 429, 503, a full queue); also counted in Failed
	Backlog   int64 `json:"backlog"`           // due but not finished at the window's end
	// Of sessions: messages that count as frames and bytes received, and sessions lost.
	Frames int64 `json:"frames,omitempty"`
	Bytes  int64 `json:"bytes_in,omitempty"`
	Lost   int64 `json:"lost,omitempty"`

	P50Ms         float64 `json:"p50_ms"` // response time from the intended send time
	P99Ms         float64 `json:"p99_ms"`
	MaxMs         float64 `json:"max_ms"`
	DeliveryP50Ms float64 `json:"delivery_p50_ms,omitempty"`
	DeliveryP99Ms float64 `json:"delivery_p99_ms,omitempty"`
	LagP99Us      float64 `json:"lag_p99_us"` // the generator's own send-lag
	CPU           float64 `json:"cpu"`        // cores the generator used
}

// Server is the target's view of the same window. Rates are per second.
type Server struct {
	CPU        float64            `json:"cpu"` // cores used
	RSS        int64              `json:"rss_bytes"`
	Delay      float64            `json:"delay"` // seconds per second that its threads waited for a CPU
	Goroutines int64              `json:"goroutines,omitempty"`
	HeapLive   int64              `json:"heap_live_bytes,omitempty"`
	HeapGoal   int64              `json:"heap_goal_bytes,omitempty"`
	Allocs     float64            `json:"allocs_per_s,omitempty"`
	AllocBytes float64            `json:"alloc_bytes_per_s,omitempty"`
	GCCycles   float64            `json:"gc_cycles_per_s,omitempty"`
	GCPauseMs  float64            `json:"gc_pause_ms,omitempty"`  // stop-the-world time in the window
	GCCPU      float64            `json:"gc_cpu,omitempty"`       // cores; advances once per GC cycle
	MutexWait  float64            `json:"mutex_wait,omitempty"`   // goroutine-seconds per second
	SchedP99Us float64            `json:"sched_p99_us,omitempty"` // time runnable goroutines waited
	Gauges     map[string]float64 `json:"gauges,omitempty"`       // gauges that the service registered
	Profiling  bool               `json:"profile_live,omitempty"` // a profile was running in the target
	AgentSeen  bool               `json:"agent_seen,omitempty"`   // false: only /proc was read
}

// Quantiles of a duration, in ms.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// At returns the quantile of the given name (p50 ... p999, max, mean).
func (q Quantiles) At(name string) (ms float64, ok bool) {
	switch name {
	case "p50":
		return q.P50, true
	case "p90":
		return q.P90, true
	case "p95":
		return q.P95, true
	case "p99":
		return q.P99, true
	case "p999":
		return q.P999, true
	case "max":
		return q.Max, true
	case "mean":
		return q.Mean, true
	}
	return 0, false
}

// Lag holds the quantiles of the generator's own send-lag, in us: from the instant a request
// could have been sent (its intended time, or when a connection became free) to the instant it
// was sent.
type Lag struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Totals sums up a run. A request counts as Offered by its intended send time; completions and
// latencies count by when the request finished. The latencies include requests that finished while
// draining, so that the slowest are not left out.
type Totals struct {
	Offered     int64 `json:"offered"` // requests that were due
	Sent        int64 `json:"sent"`
	Ended       int64 `json:"ended"`     // with or without an answer: offered = ended + unfinished
	Completed   int64 `json:"completed"` // the part of Ended that was answered, success or failure
	Failed      int64 `json:"failed"`
	Unfinished  int64 `json:"unfinished"`  // scheduled but not finished at the end; enters the latencies at its age
	Delivered   int64 `json:"delivered"`   // deliveries that matched a request
	Undelivered int64 `json:"undelivered"` // accepted but not delivered at the end; enters the latencies at its age
	Duplicates  int64 `json:"duplicates"`  // deliveries that matched no request, or one already delivered

	Errors map[string]int64 `json:"errors"` // by kind: timeout, refused, reset, closed, malformed, check, status, ...
	Status map[string]int64 `json:"status"` // by protocol status

	OfferedPerS    float64 `json:"offered_per_s"`
	ThroughputPerS float64 `json:"achieved_per_s"`
	DeliveredPerS  float64 `json:"delivered_per_s"`
	Variation      float64 `json:"variation"` // coefficient of variation of the achieved rate across 1 s windows

	Response Quantiles            `json:"response_ms"` // from the intended send time (closed model: from the send)
	Service  Quantiles            `json:"service_ms"`  // from the actual send
	Delivery Quantiles            `json:"delivery_ms"` // from the intended send time to the delivery
	Lag      Lag                  `json:"send_lag_us"`
	Classes  map[string]Quantiles `json:"classes,omitempty"`  // response by request class
	Statuses map[string]Quantiles `json:"statuses,omitempty"` // response by protocol status, where there were several

	// Flow is the duration of the flows that succeeded, pauses included; nil: the load had no flows.
	// With flows the latencies above are those of all their steps, and Classes has each step.
	Flow      *Quantiles    `json:"flow_ms,omitempty"`
	Sessions  *Sessions     `json:"sessions,omitempty"` // nil: the load had none
	Generator Generator     `json:"generator"`
	Server    *ServerTotals `json:"server,omitempty"`
}

// ErrorShare returns the share of requests that failed or never finished. Requests that were
// accepted but not delivered are in Undelivered, and count only against an SLO on delivery. Of
// sessions that only receive, it is the share of sessions that did not open or were lost.
func (t Totals) ErrorShare() float64 {
	if t.Offered == 0 {
		return t.Sessions.lostShare()
	}
	return float64(t.Failed+t.Unfinished) / float64(t.Offered)
}

// ReceiveOnly reports whether the load was sessions that send no requests: only frames count, and
// there are no latencies.
func (t Totals) ReceiveOnly() bool { return t.Offered == 0 && t.Sessions != nil }

// FramesPerS returns the rate of the frames that all sessions received together.
func (t Totals) FramesPerS() float64 {
	if t.Sessions == nil {
		return 0
	}
	return t.Sessions.FramesMean * float64(t.Sessions.Planned)
}

// Work returns the number by which a run's costs are divided: the answered requests or, of sessions
// that only receive, the frames.
func (t Totals) Work(length time.Duration) int64 {
	if t.ReceiveOnly() {
		return int64(math.Round(t.FramesPerS() * length.Seconds()))
	}
	return int64(t.ThroughputPerS * length.Seconds())
}

// Generator holds the resources that the load generator used.
type Generator struct {
	CPUSeconds    float64 `json:"cpu_s"`
	CPUPerMillion float64 `json:"cpu_s_per_million"`
	BusiestThread float64 `json:"busiest_thread"`   // share of one core used by the busiest sending thread
	Limited       bool    `json:"limited"`          // the generator, not the target, set the pace
	Why           string  `json:"why,omitempty"`    // evidence for Limited
	Failed        string  `json:"failed,omitempty"` // why a part of it failed, so that the load was not the planned one; empty: none did
	Realtime      bool    `json:"realtime,omitempty"`
	Agents        []Agent `json:"agents,omitempty"` // the processes that shared the load; nil: the lab's own sent it
}

// ServerTotals holds the resources that the target used over the measured time.
type ServerTotals struct {
	CPUMicrosPerRequest float64            `json:"cpu_us_per_request"`
	AllocsPerRequest    float64            `json:"allocs_per_request"` // -1: the target has no agent
	BytesPerRequest     float64            `json:"bytes_per_request"`  // -1: the target has no agent
	PeakRSS             int64              `json:"peak_rss_bytes"`
	PeakGoroutines      int64              `json:"peak_goroutines"`
	GCPauseP99Ms        float64            `json:"gc_pause_p99_ms"`
	GCShare             float64            `json:"gc_share"` // share of the target's CPU
	GCPauses            []PauseBucket      `json:"gc_pauses,omitempty"`
	MutexWait           float64            `json:"mutex_wait"`       // goroutine-seconds per second blocked on mutexes
	Gauges              map[string]float64 `json:"gauges,omitempty"` // maximum of each gauge
}

// PauseBucket is one bar of the histogram of GC pauses.
type PauseBucket struct {
	UpToMs float64 `json:"up_to_ms"`
	Count  int64   `json:"count"`
}
