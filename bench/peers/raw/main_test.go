package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// Rows are filled in, lines are units of work, and another status is a failure.
func TestRun(t *testing.T) {
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		uid := r.FormValue("uid")
		if (uid != "7" && uid != "8") || r.Header.Get("Authorization") != "Bearer token-"+uid || string(body) != "{\"cost\":\"$5\"}\n{\"cost\":\"$5\"}\n" {
			wrong.Add(1)
		}
		if uid == "8" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte("uid,token\n7,token-7\n8,token-8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{url: server.URL + "/order?uid={uid}", rows: rows, header: map[string]string{"Authorization": "Bearer {token}"},
		body: `{"cost":"$5"}`, lines: 2, status: http.StatusOK, connections: 2}
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.run(ctx, out)
		out.Close()
	}()
	totals, _, err := load.Run(t.Context(), load.Plan{Length: 300 * time.Millisecond}, windows.NewSteady("raw", r), nowhere{})
	stop()
	<-ended
	if err != nil || totals.Ended == 0 || totals.Ended%2 != 0 || totals.Failed == 0 || totals.Failed == totals.Ended || wrong.Load() > 0 {
		t.Errorf("%v: %+v, %d wrong requests", err, totals, wrong.Load())
	}
}

func TestDriverRefuses(t *testing.T) {
	good := options{url: "http://127.0.0.1:1/", lines: 1, connections: 1}
	if _, err := good.driver(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*options){
		"url": func(o *options) { o.url = "127.0.0.1" }, "rows": func(o *options) { o.rows = "missing.csv" }, "lines": func(o *options) { o.lines = 0 },
	} {
		o := good
		if spoil(&o); func() error { _, err := o.driver(); return err }() == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
	if times(record.NewHistogram(), 3).TotalCount() != 0 || !strings.HasPrefix(good.url, "http") {
		t.Error("a histogram without values")
	}
}
