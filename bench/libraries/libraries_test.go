package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/subjects/bounds/suite"
)

// theirs are goroutines that outlive the library's Close: fasthttp's pool of workers sleeps once more, and one
// keeps the date for all its servers.
var theirs = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
}

// A calibration checks names before it builds the servers.
func TestNamesOfTheCalibration(t *testing.T) {
	const file = "../calibrate/suite/libraries.txt"
	want := ""
	for _, e := range servers {
		want += e.Family + " " + e.Name + "\n"
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v; %s should be\n%s", err, file, want)
	}
}

// Every server answers requests that come together, and leaves nothing behind.
func TestAnswers(t *testing.T) {
	for _, e := range suite.Listed(servers) {
		t.Run(e.Name, func(t *testing.T) {
			defer goleak.VerifyNone(t, theirs...)
			t.Setenv("TMPDIR", t.TempDir())
			_, start, err := suite.Drawn(e, 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := start()
			if err != nil {
				t.Fatal(err)
			}
			url, end := serving(t, s)
			client := &http.Client{Timeout: time.Minute}
			var asking sync.WaitGroup
			for range 5 {
				asking.Go(func() {
					answer, err := client.Get(url + e.Path)
					if err != nil {
						t.Error(err)
						return
					}
					defer answer.Body.Close()
					text, err := io.ReadAll(answer.Body)
					if err != nil || answer.StatusCode != http.StatusOK || strings.TrimSpace(string(text)) == "" {
						t.Errorf("%s, %q, %v", answer.Status, text, err)
					}
				})
			}
			asking.Wait()
			client.CloseIdleConnections()
			end()
			left, err := os.ReadDir(os.Getenv("TMPDIR"))
			if err != nil || len(left) > 0 {
				t.Errorf("left in the folder: %v, %v", left, err)
			}
		})
	}
}

// serving serves as subject.Serve does, without a debug address.
func serving(t *testing.T, s *suite.Service) (url string, end func()) {
	srv := httptest.NewUnstartedServer(s.Handler)
	if s.Serve == nil {
		srv.Start()
		return srv.URL, func() { srv.Close(); s.Close() }
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(srv.Listener) }()
	return "http://" + srv.Listener.Addr().String(), func() {
		s.Close()
		srv.Listener.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A request is answered also when the log cannot be written.
func TestLogThatCannotBeWritten(t *testing.T) {
	defer goleak.VerifyNone(t, theirs...)
	t.Setenv("TMPDIR", t.TempDir())
	r, err := newReplica(10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // one that may be waiting as it ends, and one that comes later
		w := httptest.NewRecorder()
		if r.put(w, httptest.NewRequest(http.MethodGet, "/put", nil)); w.Code != http.StatusInternalServerError {
			t.Error(w.Code, w.Body)
		}
	}
}
