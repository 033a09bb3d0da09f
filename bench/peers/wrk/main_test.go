package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/windows"
)

func TestCompleted(t *testing.T) {
	out := "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  301171 requests in 3.00s, 48.25MB read\n"
	if n, err := completed(out); err != nil || n != 301171 {
		t.Errorf("read %d, %v; want 301171", n, err)
	}
	for name, bad := range map[string]string{"errors": out + "  Socket errors: connect 0, read 3, write 0, timeout 0\n", "no requests": "unable to connect\n"} {
		if _, err := completed(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// All requests are in the windows, evenly, and each phase has its length.
func TestSpread(t *testing.T) {
	var out bytes.Buffer
	if err := spread(windows.NewWriter(&out), 5*window, 1234, 4, time.Second, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for phase, want := range map[string]int{"warmup": 10, "measure": 20, "drain": 10} {
		if got := strings.Count(text, `"phase":"`+phase+`"`); got != want {
			t.Errorf("%d windows of phase %s, want %d", got, phase, want)
		}
	}
	if few, many := strings.Count(text, `"completed":30,`), strings.Count(text, `"completed":31,`); 30*few+31*many != 1234 {
		t.Errorf("%d windows with 30 and %d with 31 requests", few, many)
	}
}
