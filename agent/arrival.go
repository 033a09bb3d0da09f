package agent

import (
	"math"
	"math/bits"
	"net/http"
	"sync/atomic"
	"time"
)

// startTimeHeader is X-Start-Time-US in the form in which net/http keeps it.
const startTimeHeader = "X-Start-Time-Us"

// maxQueueing is how long a request can have been on its way. What claims more carries another unit, or
// comes from a machine whose clock is off.
const maxQueueing = time.Minute

// StartTime wraps a service's handler and splits the latency of its requests: into the time before the
// handler (the network, the accept queue, the proxy's queue, the wait for a CPU) and the time in it. The
// first is known of requests whose header X-Start-Time-US says when the client or the proxy sent them, in
// microseconds since 1970. The clock must be this machine's or agree with it to a fraction of the latency;
// a time in the future, or more than a minute ago, is ignored. The second is known of every request; it ends
// when the handler returns, so a WebSocket counts at its end.
//
// They become the gauges queue_ms_p50, queue_ms_p99, handler_ms_p50 and handler_ms_p99, each over the time
// since the sample before; a sample before which no request ended has none. It costs two clock readings and
// two atomic additions a request, and allocates nothing. Several handlers may be wrapped; they count as one.
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

// queueing returns how long before it arrived a request was sent; false when its headers do not tell.
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

// Durations are counted in us: each of the first 16 by itself, then eight buckets for every doubling, which
// are 6 to 12% wide. The last bucket holds what took longer than 67 s.
const (
	exactDurations     = 16
	durationsPerOctave = 8
	durationBuckets    = exactDurations + 22*durationsPerOctave
)

// durations counts durations by length. It may be added to by many goroutines.
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
	shift := bits.Len64(us) - 4 // leaves 8 to 15
	return min(durationBuckets-1, exactDurations+(shift-1)*durationsPerOctave+int(us>>shift)-durationsPerOctave)
}

// upperBound is the length, in ms, up to which a bucket counts.
func upperBound(bucket int) float64 {
	if bucket < exactDurations {
		return float64(bucket+1) / 1000
	}
	octave, within := (bucket-exactDurations)/durationsPerOctave, (bucket-exactDurations)%durationsPerOctave
	return math.Ldexp(float64(within+durationsPerOctave+1), octave+1) / 1000
}

// quantile returns a gauge: the q-quantile, in ms, of what has been added since the gauge was read last; not
// a number when that is nothing.
func (d *durations) quantile(q float64) func() float64 {
	var before, gained [durationBuckets]uint64
	return func() float64 {
		total := uint64(0)
		for i := range d.counts {
			n := d.counts[i].Load()
			gained[i], before[i] = n-before[i], n
			total += gained[i]
		}
		rank, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
		for i, n := range gained {
			if seen += n; n > 0 && seen >= rank {
				return upperBound(i)
			}
		}
		return math.NaN()
	}
}
