package main

import (
	"math"
	"testing"
)

// The figures are worked out by hand: logarithms 0, 0.1, 0.2, 0.3 have mean 0.15 and a standard error of
// 0.0645497; t(0.975, 3) is 3.18245.
func TestLogRatio(t *testing.T) {
	b := []float64{1, 2, 3, 4}
	a := make([]float64, 4)
	for i := range a {
		a[i] = b[i] * math.Exp(float64(i)/10)
	}
	ratio, low, high := logRatio(a, b)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"ratio", math.Log(ratio), 0.15},
		{"low", math.Log(low), 0.15 - 3.18245*0.0645497},
		{"high", math.Log(high), 0.15 + 3.18245*0.0645497},
	} {
		if math.Abs(c.got-c.want) > 1e-5 {
			t.Errorf("%s: logarithm %.6f, want %.6f", c.name, c.got, c.want)
		}
	}
}

func TestWrkOutput(t *testing.T) {
	out := "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  301171 requests in 3.00s, 48.25MB read\n"
	n, err := wrkCompleted(out)
	if err != nil || n != 301171 {
		t.Errorf("read %d, %v; want 301171", n, err)
	}
	if _, err := wrkCompleted(out + "  Socket errors: connect 0, read 3, write 0, timeout 0\n"); err == nil {
		t.Error("a run with errors passed for a good one")
	}
	if _, err := wrkCompleted("unable to connect\n"); err == nil {
		t.Error("a run without requests passed for a good one")
	}
}
