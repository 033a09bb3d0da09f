package tools

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/lab/load"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const at = `"time":"2026-11-28T12:00:00.5+02:00"`

func TestK6(t *testing.T) {
	done := time.Date(2026, 11, 28, 10, 0, 0, 5e8, time.UTC).UnixNano()
	for line, want := range map[string]request{
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":12.5,"tags":{"expected_response":"true","group":"","status":"200"},"metadata":{"vu":"3"}}}`: {user: "3", done: done, took: 12_500_000, status: 200, success: true},
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":1,"tags":{"expected_response":"false","status":"404","vu":"7"}}}`:                           {user: "7", done: done, took: 1e6, status: 404},
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":1,"tags":{"expected_response":"true","status":"404"}}}`:                                     {done: done, took: 1e6, status: 404, success: true},
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":0,"tags":{"expected_response":"false","status":"0","error_code":"1212"}}}`:                  {done: done, status: load.Refused},
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":60000,"tags":{"expected_response":"false","status":"0","error_code":"1050"}}}`:              {done: done, took: 60e9, status: load.Timeout},
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":1,"tags":{"status":"500"}}}`:                                                                {done: done, took: 1e6, status: 500},
		`{"metric":"grpc_req_duration","type":"Point","data":{` + at + `,"value":2,"tags":{"status":"0"}}}`:                                                                  {done: done, took: 2e6, status: load.OK, success: true},
		`{"metric":"grpc_req_duration","type":"Point","data":{` + at + `,"value":2,"tags":{"status":"14"}}}`:                                                                 {done: done, took: 2e6, status: load.Other},
	} {
		if got, ok := readK6([]byte(line)); !ok || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{
		`{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time","thresholds":[],"submetrics":null},"metric":"http_req_duration"}`,
		`{"metric":"http_reqs","type":"Point","data":{` + at + `,"value":1,"tags":{"status":"200"}}}`,
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":1,"tags":{"group":"::setup","status":"200"}}}`,
		`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":-1,"tags":{"status":"200"}}}`,
		`{"metric":"http_req_duration","type":"Point"}`,
		"     http_req_duration..............: avg=1ms", `"http_req_duration"`, `{"http_req_duration":`,
	} {
		if got, ok := readK6([]byte(line)); ok {
			t.Errorf("%s: read as %+v", line, got)
		}
	}
}

func TestLocust(t *testing.T) {
	for line, want := range map[string]request{
		`{"dyno": "request", "t": 5, "ms": 1.5, "user": "1.2", "status": 200, "failed": false, "error": "", "bytes": 7}`:                 {user: "1.2", done: 5, took: 1_500_000, status: 200, success: true, bytes: 7},
		`{"dyno": "request", "t": 5, "ms": 0, "status": 200, "failed": true, "error": "CatchResponseError('no')"}`:                       {done: 5, status: 200},
		`{"dyno": "request", "t": 5, "ms": 0, "status": 0, "failed": true, "error": "ConnectionRefusedError(111, 'x')"}`:                 {done: 5, status: load.Refused},
		`{"dyno": "request", "t": 5, "ms": 0, "status": 0, "failed": true, "error": "RemoteDisconnected('Remote end closed')"}`:          {done: 5, status: load.Closed},
		`{"dyno": "request", "t": 5, "ms": 0, "status": 0, "failed": true, "error": "ConnectTimeout(...)"}`:                              {done: 5, status: load.Timeout},
		`{"dyno": "request", "t": 5, "ms": 0, "status": 0, "failed": false}`:                                                             {done: 5, status: load.OK, success: true},
		`{"dyno": "request", "t": 5, "ms": 1e300, "status": -4, "failed": true, "bytes": -1, "user": "` + strings.Repeat("x", 99) + `"}`: {done: 5, took: 3.6e12, status: load.Other},
	} {
		if got, ok := readLocust([]byte(line)); !ok || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{`{"dyno":"other","t":5}`, `{"dyno":"request","t":0}`, `{"dyno":"request"`, "hello"} {
		if got, ok := readLocust([]byte(line)); ok {
			t.Errorf("%s: read as %+v", line, got)
		}
	}
}

type none struct{}

func (none) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// run drives a plan with the output that print writes, on a fake clock.
func run(t *testing.T, users int, print func(w io.Writer)) (totals record.Totals, err error) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour) // so that monotonic instants are positive
		r, w := io.Pipe()
		printed := make(chan struct{})
		go func() {
			defer close(printed)
			print(w)
			w.Close()
		}()
		plan := load.Plan{Connections: users, Warmup: time.Second, Length: 2 * time.Second, Drain: time.Second}
		totals, _, err = load.Run(t.Context(), plan, New(Locust, r), none{})
		<-printed
	})
	return totals, err
}

func report(w io.Writer, user string, ms, status int, failed bool) error {
	_, err := fmt.Fprintf(w, "\n{\"dyno\":\"request\",\"t\":%d,\"ms\":%d,\"user\":%q,\"status\":%d,\"failed\":%v}\n", time.Now().UnixNano(), ms, user, status, failed)
	return err
}

// TestDrive checks that the plan begins with the first request, that requests of the warm-up and
// those that began after the measured time do not count, and that each user is a session.
func TestDrive(t *testing.T) {
	got, err := run(t, 3, func(w io.Writer) {
		time.Sleep(10 * time.Second) // the tool starts
		fmt.Fprintln(w, "Starting", strings.Repeat("x", 3*maxLine), `{"dyno":"request","t":1}`)
		for n := 0; report(w, "a", 20, 200, n%4 == 3) == nil; n++ { // 10 requests a second
			if n%2 == 0 && report(w, "b", 50, 404, false) != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Completed != 30 || got.Offered != 30 || got.Failed != 5 || got.Errors["check"] != 5 || got.Status["200"] != 20 || got.Status["404"] != 0 {
		t.Errorf("completed %d, offered %d, failed %d, errors %v, status %v", got.Completed, got.Offered, got.Failed, got.Errors, got.Status)
	}
	if s := got.Sessions; s == nil || s.Planned != 3 || s.Opened != 2 || s.FramesMin != 0 || s.FramesMean != 5 {
		t.Errorf("sessions %+v", got.Sessions)
	}
	if q := got.Response; q.P50 < 19 || q.P50 > 21 || q.Max < 49 || q.Max > 51 {
		t.Errorf("response %+v", q)
	}
}

func TestToolThatEnds(t *testing.T) {
	if _, err := run(t, 1, func(w io.Writer) { fmt.Fprintln(w, "no such class") }); err == nil || !strings.Contains(err.Error(), "Locust ended without a request; see its log") {
		t.Errorf("without a request: %v", err)
	}
	if _, err := run(t, 1, func(w io.Writer) { report(w, "a", 1, 200, false) }); err == nil || !strings.Contains(err.Error(), "before the measured time was over") {
		t.Errorf("after one request: %v", err)
	}
	if _, err := run(t, 1, func(io.Writer) { time.Sleep(time.Hour) }); err == nil || !strings.Contains(err.Error(), "sent no request within 2m0s") {
		t.Errorf("that hangs: %v", err)
	}
}

// FuzzLines checks that a request has values that can be recorded, whatever a tool prints.
func FuzzLines(f *testing.F) {
	f.Add(`{"metric":"http_req_duration","type":"Point","data":{` + at + `,"value":1e99,"tags":{"status":"99999"}}}`)
	f.Add(`{"dyno":"request","t":9223372036854775807,"ms":-1,"user":"\u0000","status":1e9,"failed":true}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, form := range []Form{K6, Locust} {
			q, ok := form.read([]byte(line))
			if ok && (q.took < 0 || q.took > int64(time.Hour) || q.bytes < 0 || len(q.user) > maxName || q.status > 999) {
				t.Errorf("%s reads %+v", form.Name, q)
			}
		}
	})
}
