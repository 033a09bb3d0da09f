package agent

import (
	"math"
	"math/bits"
	"net/http"
	"sync/atomic"
	"time"
)

// startTimeHeader is X-Start-Time-US in net/http's canonical form.
const startTimeHeader = "X-Start-Time-Us"

// maxQueueing bounds a plausible queueing time. A larger value is in another unit, or comes from
// a machine whose clock is wrong.
const maxQueueing = time.Minute

// StartTime wraps a service's handler and splits the latency of its requests: into the time
// before the handler (the network, the accept queue, the proxy's queue, the wait for a CPU) and
// the time in it. The first is known for requests whose header X-Start-Time-US contains the time
// at which the client or the proxy sent them, in microseconds since 1970. That clock must be this
// machine's or agree with it to a fraction of the latency; a time in the future, or more than a
// minute ago, is ignored. The second is known for every request; it ends when the handler
// returns, so a WebSocket counts at its end.
//
// They become the gauges queue_ms_p50, queue_ms_p99, handler_ms_p50 and handler_ms_p99, each over
// the time since the previous sample; a sample without a request before it has none. StartTime
// costs two clock readings and two atomic additions per request, and allocates nothing. Several
// handlers may be wrapped; they count as one.
func (a *Agent) StartTime(next http.Handler) http.Handler {
	a.watchRequests.Do(func() {
		for _, part := range []struct {
			name      string
			durations *durations
		}{{"queue_ms", &a.queueing}, {"handler_ms", &a.handling}} {
			a.Gauge(part.name+"_p50", part.durations.quantile(0.50))
			a.Gauge(part.name+"_p99", part.durations.quantile(0.99))
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		if queued, ok := queueing(r.Header[startTimeHeader], arrived); ok {
			a.queueing.add(queued)
		}
		defer a.handling.addSince(arrived)
		next.ServeHTTP(w, r)
	})
}

// queueing returns the time between the sending of a request and its arrival; false if its
// headers do not contain it.
func queueing(headers []string, arrived time.Time) (time.Duration, bool) {
	if len(headers) != 1 {
		return 0, false
	}
	us, ok := decimal(headers[0])
	if !ok {
		return 0, false
	}
	took := arrived.UnixMicro() - us
	return time.Duration(took) * time.Microsecond, took >= 0 && took <= maxQueueing.Microseconds()
}

// Durations are counted in us: one bucket for each of the first 16, then eight buckets per
// doubling, which are 6 to 12% wide. The last bucket counts everything longer than 67 s.
const (
	exactDurations     = 16
	durationsPerOctave = 8
	durationBuckets    = exactDurations + 22*durationsPerOctave
)

// durations counts durations by length. It is safe for concurrent use.
type durations struct {
	counts [durationBuckets]atomic.Uint64
}

func (d *durations) addSince(begin time.Time) { d.add(time.Since(begin)) }

func (d *durations) add(t time.Duration) { d.counts[durationBucket(t)].Add(1) }

func durationBucket(t time.Duration) int {
	us := uint64(max(0, t.Microseconds()))
	if us < exactDurations {
		return int(us)
	}
	shift := bits.Len64(us) - 4 // the result is from 8 to 15
	return min(durationBuckets-1, exactDurations+(shift-1)*durationsPerOctave+int(us>>shift)-durationsPerOctave)
}

// upperBound returns the longest duration, in ms, that a bucket counts.
func upperBound(bucket int) float64 {
	if bucket < exactDurations {
		return float64(bucket+1) / 1000
	}
	octave, within := (bucket-exactDurations)/durationsPerOctave, (bucket-exactDurations)%durationsPerOctave
	return math.Ldexp(float64(within+durationsPerOctave+1), octave+1) / 1000
}

// quantile returns a gauge: the q-quantile, in ms, of the durations added since the gauge was
// last read; NaN if there are none.
func (d *durations) quantile(q float64) func() float64 {
	var before, gained [durationBuckets]uint64
	return func() float64 {
		for i := range d.counts {
			n := d.counts[i].Load()
			gained[i], before[i] = n-before[i], n
		}
		if bucket := quantileOf(gained[:], q); bucket >= 0 {
			return upperBound(bucket)
		}
		return math.NaN()
	}
}

// maxDigits is the largest number of digits that always fits into an int64.
const maxDigits = 18

// decimal parses a text of digits. Unlike strconv it does not allocate for invalid text, which
// any client may send with every request.
func decimal(text string) (n int64, ok bool) {
	if len(text) == 0 || len(text) > maxDigits {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return n, true
}
