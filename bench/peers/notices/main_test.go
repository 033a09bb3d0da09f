package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/services/notify/sink"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestMain lets the test binary be notifyd, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// What the receiver has verified is what counts.
func TestRun(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	s, err := sink.New(sink.Config{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Register(mux)
	receiver, stats := httptest.NewServer(s), httptest.NewServer(mux)
	defer receiver.Close()
	defer stats.Close()
	o := options{to: receiver.URL + "/hook", stats: stats.URL + "/stats", secret: secret, assembly: "tuned", dir: t.TempDir(), inFlight: 8, batch: 1, payload: 20}
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := o.run(ctx, out)
		out.Close()
		ended <- err
	}()
	totals, _, err := load.Run(t.Context(), load.Plan{Length: time.Second}, windows.NewSteady("notices", r), nowhere{})
	stop()
	<-ended // the pipe was closed
	if got := s.Stats(); err != nil || totals.Ended == 0 || totals.Ended > got.Notices || got.BadSignature > 0 {
		t.Errorf("%v: %+v, received %+v", err, totals, got)
	}
}
