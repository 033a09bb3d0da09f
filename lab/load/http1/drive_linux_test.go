package http1

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/http1/wire"
	"dyno/lab/load/loadtest"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // drives mostly wait for their windows to end, so that 16 of them can run in parallel
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	for name, config := range map[string]Config{
		"epoll":         {Backend: BackendEpoll},
		"uring":         {Backend: BackendUring},
		"epoll-threads": {Backend: BackendEpoll, Threads: 2},
		"uring-threads": {Backend: BackendUring, Threads: 2, Realtime: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadtest.Test(t, func(target string, requests *corpus.Corpus, connections int) load.Driver {
				c := config
				c.Target, c.Corpus = target, requests
				return driver(t, c)
			})
		})
	}
}

func driver(t testing.TB, c Config) *Driver {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// answering is a server that follows a script on each connection until the test ends.
func answering(t testing.TB, script func(c net.Conn, in *bufio.Reader)) (url string, accepted *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int64)
	ended := make(chan struct{})
	var open atomic.Int64
	open.Store(1)
	leave := func() {
		if open.Add(-1) == 0 {
			close(ended)
		}
	}
	go func() {
		defer leave()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			open.Add(1)
			go func() {
				defer leave()
				defer c.Close()
				script(c, bufio.NewReader(c))
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return "http://" + l.Addr().String(), accepted
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// always answers every request.
func always(c net.Conn, in *bufio.Reader) {
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		if _, err := io.WriteString(c, ok); err != nil {
			return
		}
	}
}

// windows counts the windows of a run.
type windows int

func (w *windows) Window(record.Window, map[string]*hdrhistogram.Histogram) error { *w++; return nil }

func run(t testing.TB, p load.Plan, d *Driver) record.Totals {
	t.Helper()
	return count(t, p, d, new(windows))
}

func count(t testing.TB, p load.Plan, d *Driver, w *windows) record.Totals {
	t.Helper()
	totals, _, err := load.Run(context.Background(), p, d, w)
	if err != nil {
		t.Fatal(err)
	}
	if totals.Offered != totals.Ended+totals.Unfinished {
		t.Errorf("offered %d, completed %d, unfinished %d", totals.Offered, totals.Ended, totals.Unfinished)
	}
	return totals
}

func small() *corpus.Corpus {
	return &corpus.Corpus{Requests: []corpus.Request{{Method: "POST", Path: "/", Body: []byte("hello")}}, Classes: make([]corpus.Class, 1)}
}

func at(n int) func() load.Schedule {
	return func() load.Schedule { return load.Times(make([]int64, n)) }
}

const testTimeout = time.Minute // a bound that no passing test reaches

// The driver fills the pipeline: the server receives as many requests as the pipeline holds
// before it answers the first.
func TestPipelineIsFilled(t *testing.T) {
	const depth, many = 4, 40
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			url, accepted := answering(t, func(c net.Conn, in *bufio.Reader) {
				for {
					for range depth {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						io.Copy(io.Discard, r.Body)
					}
					for range depth {
						io.WriteString(c, ok)
					}
				}
			})
			totals := run(t, load.Plan{Schedule: at(many), Connections: 1, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
				driver(t, Config{Target: url, Corpus: small(), Backend: backend, Pipeline: depth}))
			if totals.Status["200"] != many || accepted.Load() != 1 {
				t.Errorf("%d of %d answered over %d connections: %v", totals.Status["200"], many, accepted.Load(), totals.Errors)
			}
		})
	}
}

// When a connection is lost, its oldest request ends with the connection's error, and those after
// it end as closed.
func TestPipelineIsLost(t *testing.T) {
	const depth = 4
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			url, _ := answering(t, func(c net.Conn, in *bufio.Reader) {
				for range depth {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
				}
				io.WriteString(c, ok+"HTTP/1.1 nonsense\r\n")
				in.ReadByte() // until the client closes
			})
			totals := run(t, load.Plan{Schedule: at(depth), Connections: 1, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
				driver(t, Config{Target: url, Corpus: &corpus.Corpus{Requests: []corpus.Request{{Method: "GET", Path: "/"}}, Classes: make([]corpus.Class, 1)}, Backend: backend, Pipeline: depth}))
			if totals.Status["200"] != 1 || totals.Errors["malformed"] != 1 || totals.Errors["closed"] != depth-2 {
				t.Errorf("statuses %v, errors %v", totals.Status, totals.Errors)
			}
		})
	}
}

// When the server closes a connection without an answer, every request on it ends as closed,
// immediately.
func TestPipelineIsClosed(t *testing.T) {
	const depth = 4
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			url, _ := answering(t, func(c net.Conn, in *bufio.Reader) {
				for range depth {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
				}
			})
			totals := run(t, load.Plan{Schedule: at(depth), Connections: 1, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
				driver(t, Config{Target: url, Corpus: &corpus.Corpus{Requests: []corpus.Request{{Method: "GET", Path: "/"}}, Classes: make([]corpus.Class, 1)}, Backend: backend, Pipeline: depth}))
			if totals.Errors["closed"] != depth {
				t.Errorf("errors %v, want %d of kind closed", totals.Errors, depth)
			}
		})
	}
}

// A long request that is still being sent does not corrupt the other requests of a pipeline.
func TestPipelineOfLongRequests(t *testing.T) {
	requests := small()
	requests.Requests[0].Body = make([]byte, 4<<20)
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			url, _ := answering(t, always)
			const many = 12
			totals := run(t, load.Plan{Schedule: at(many), Connections: 1, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
				driver(t, Config{Target: url, Corpus: requests, Backend: backend, Pipeline: 4}))
			if totals.Status["200"] != many {
				t.Errorf("%d of %d answered: %v", totals.Status["200"], many, totals.Errors)
			}
		})
	}
}

// More connections are open than the ring has room for requests or buffers.
func TestManyConnections(t *testing.T) {
	const many = 1500
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			url, accepted := answering(t, always)
			totals := run(t, load.Plan{Schedule: at(3 * many), Connections: many, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
				driver(t, Config{Target: url, Corpus: small(), Backend: backend}))
			if totals.Status["200"] != 3*many || accepted.Load() > many {
				t.Errorf("%d of %d answered over %d connections: %v", totals.Status["200"], 3*many, accepted.Load(), totals.Errors)
			}
		})
	}
}

// A name without an address makes every request fail; the drive itself does not fail.
func TestUnknownHost(t *testing.T) {
	const many = 5
	totals := run(t, load.Plan{Schedule: at(many), Connections: 2, Length: record.WindowLength, Drain: testTimeout, Timeout: testTimeout},
		driver(t, Config{Target: "http://absent.invalid:80", Corpus: small()}))
	if totals.Errors["connect"] != many {
		t.Errorf("errors %v, want %d of kind connect", totals.Errors, many)
	}
}

// While nothing fails, a request allocates nothing: a drive's allocations do not grow with its
// requests. They do grow with its windows, of which a slow machine needs more for the same number
// of requests.
func TestRequestsDoNotAllocate(t *testing.T) {
	for _, backend := range []string{BackendEpoll, BackendUring} {
		t.Run(backend, func(t *testing.T) {
			allocated := func(requests int) (objects float64, w windows) {
				url, _ := answering(t, counted)
				d := driver(t, Config{Target: url, Corpus: small(), Backend: backend})
				p := load.Plan{Schedule: at(requests), Connections: 4, Length: 5 * record.WindowLength, Drain: testTimeout, Timeout: testTimeout}
				objects = testing.AllocsPerRun(1, func() {
					w = 0
					count(t, p, d, &w)
				})
				return objects, w
			}
			const few, many = 100, 20_100
			objectsOfFew, windowsOfFew := allocated(few)
			objects, windows := allocated(many)
			if grown := objects - objectsOfFew*float64(windows)/float64(windowsOfFew); grown > (many-few)/10 {
				t.Errorf("%d more requests in %d instead of %d windows allocated %.0f objects more than those account for", many-few, windows, windowsOfFew, grown)
			}
		})
	}
}

// counted answers every small request without allocating: it counts arriving bytes instead of
// parsing.
func counted(c net.Conn, in *bufio.Reader) {
	const length = len("POST / HTTP/1.1\r\nHost: 127.0.0.1:12345\r\nContent-Length: 5\r\n\r\nhello")
	buf, reply := make([]byte, length), []byte(ok)
	for {
		if _, err := io.ReadFull(in, buf); err != nil {
			return
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

// late is a driver whose only answer is read 10 ms after it was sent.
type late struct {
	*Driver
	t       *testing.T
	arrived time.Duration // after it was sent
	want    time.Duration
}

func (d late) Drive(_ context.Context, p *load.Plan, rec *load.Recorder) error {
	s := &sender{driver: d.Driver, plan: p, rec: rec, shard: rec.Shards(1)[0], requests: wire.Private(d.requests), back: deaf{}, depth: 1,
		conns: []conn{{flights: make([]flight, 1)}}}
	c, sent := &s.conns[0], p.MeasureFrom()
	c.connected(sent)
	request, _ := s.arrive(sent)
	s.send(c, request, sent, sent)
	s.now = sent + int64(10*time.Millisecond)
	s.onReceived(c, []byte(ok), sent+int64(d.arrived))
	if took := time.Duration(s.completion.Done - sent); took != d.want || c.freeAt != s.completion.Done {
		d.t.Errorf("an answer that arrived after %v took %v; the connection is free since %v", d.arrived, took, time.Duration(c.freeAt-sent))
	}
	return nil
}

// A request ends when its answer arrives, not when that is read; and not before it was sent, even if
// the clock was set meanwhile.
func TestAnswersCountWhenTheyArrive(t *testing.T) {
	for arrived, want := range map[time.Duration]time.Duration{3 * time.Millisecond: 3 * time.Millisecond, -time.Second: 0} {
		p := load.Plan{Schedule: at(1), Connections: 1, Length: time.Second, Timeout: testTimeout}
		d := late{driver(t, Config{Target: "http://127.0.0.1:1", Corpus: small()}), t, arrived, want}
		if _, _, err := load.Run(t.Context(), p, d, new(windows)); err != nil {
			t.Error(err)
		}
	}
}

// A stamp moves an answer's time back by a pause at most, and never beyond when it was read.
func TestArrived(t *testing.T) {
	const now, ahead = int64(time.Hour), int64(1_700_000_000e9)
	u := &uring{s: &sender{now: now}, ahead: ahead}
	for name, c := range map[string]struct{ stamp, want int64 }{
		"during the pause":                        {now - 30_000, now - 30_000},
		"just read":                               {now, now},
		"a segment that overtook a lost one":      {now - 200e6, now - wakeDistance},
		"the clock was set forward meanwhile":     {now - 50e6 - 1e9, now - wakeDistance},
		"the clock was set back meanwhile":        {now + 1e9, now},
		"the kernel read its clock a little late": {now + 50, now},
	} {
		if got := u.arrived(c.stamp + ahead); got != c.want {
			t.Errorf("%s: %d before it was read, want %d", name, now-got, now-c.want)
		}
	}
}

// In the open model a thread that has just been woken sleeps for wakeDistance, even if a request is
// due before.
func TestWakeUpsAreApart(t *testing.T) {
	const now = int64(time.Hour)
	for name, c := range map[string]struct {
		u             uring
		until         int64
		pause, latest int64
	}{
		"nothing due":       {uring{pauses: true, s: &sender{now: now, latest: now + 1000}}, now + 1e6, wakeDistance - 1000, now + 1e6},
		"one due soon":      {uring{pauses: true, s: &sender{now: now, latest: now}}, now + 10_000, wakeDistance, now + wakeDistance},
		"one due now":       {uring{pauses: true, s: &sender{now: now, latest: now}}, now, 0, now},
		"long ago":          {uring{pauses: true, s: &sender{now: now, latest: now + 2*wakeDistance}}, now + 1e6, 0, now + 1e6},
		"half of an answer": {uring{pauses: true, s: &sender{now: now, latest: now, partial: true}}, now + 10_000, 0, now + 10_000},
		"a closed model":    {uring{s: &sender{now: now, latest: now}}, now + 10_000, 0, now + 10_000},
	} {
		if pause, latest := c.u.rest(c.until); pause != c.pause || latest != c.latest {
			t.Errorf("%s: a pause of %d until %d, want %d until %d", name, pause, latest-now, c.pause, c.latest-now)
		}
	}
}

// While requests wait for a connection, few answers end a pause.
func TestEnough(t *testing.T) {
	for _, c := range []struct{ queued, inFlight, want int }{{0, 64, 128}, {1, 64, 8}, {1, 7, 0}, {9, 5000, 128}} {
		u := &uring{s: &sender{inFlight: c.inFlight}}
		u.s.queue.len = c.queued
		if got := u.enough(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
