package main

import (
	"bytes"
	"strings"
	"testing"

	"dyno/lab/load/windows"
)

func TestRelay(t *testing.T) {
	second := int64(0)
	now := func() int64 {
		second++
		return second * 10 * window
	}
	said := "pgbench (18.4)\nprogress: 1.0 s, 20005.0 tps, lat 0.783 ms stddev 0.312, 0 failed\nprogress: 2.0 s, 100.0 tps, lat 0.8 ms stddev 0.3\nit was stopped\n"
	var out bytes.Buffer
	err := relay(windows.NewWriter(&out), strings.NewReader(said), now)
	if err == nil || !strings.Contains(err.Error(), "it was stopped") {
		t.Errorf("%v", err)
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n != 20 {
		t.Errorf("%d windows, want 20", n)
	}
	// 20,005 in a second are 2,000 and 2,001 by turns.
	if a, b, c := strings.Count(text, `"completed":2000,`), strings.Count(text, `"completed":2001,`), strings.Count(text, `"completed":10,`); a != 5 || b != 5 || c != 10 {
		t.Errorf("%d, %d and %d windows: %s", a, b, c, text)
	}
	failed := "progress: 1.0 s, 5.0 tps, lat 0.7 ms stddev 0.3, 2 failed\n"
	if err := relay(windows.NewWriter(&out), strings.NewReader(failed), now); err == nil || !strings.Contains(err.Error(), "2 failed") {
		t.Errorf("failed transactions: %v", err)
	}
}
