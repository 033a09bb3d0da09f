package main

import (
	"bytes"
	"crypto/sha256"
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBurnIsAChain(t *testing.T) {
	var want [sha256.Size]byte
	for range 3 {
		want = sha256.Sum256(want[:])
	}
	if burn(3) != want || burn(0) != [sha256.Size]byte{} {
		t.Error("burn does other work than it says")
	}
}

func TestAnswer(t *testing.T) {
	w := httptest.NewRecorder()
	burner(5).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	digest := burn(5)
	if w.Body.Len() != answerBytes || !bytes.HasPrefix(w.Body.Bytes(), digest[:]) {
		t.Errorf("answer %x", w.Body)
	}
}

// Timing decides nothing here: only that some work is found and none for no time.
func TestCalibrate(t *testing.T) {
	if n := calibrate(0); n != 0 {
		t.Errorf("%d iterations for no work", n)
	}
	if n := calibrate(100 * time.Microsecond); n < 1 || n > 1_000_000 {
		t.Errorf("%d iterations for 100 us", n)
	}
}

func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<30).Draw(t, "n")
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		if got := scale(n, factor); math.Abs(float64(got)-float64(n)*factor) > 0.5 {
			t.Fatalf("%d times %v is %d", n, factor, got)
		}
	})
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		work       time.Duration
		factor     float64
		iterations int
		ok         bool
	}{
		{100 * time.Microsecond, 1.2, 0, true},
		{0, 1, 0, true},
		{-1, 1, 0, false},
		{time.Minute, 1, 0, false},
		{0, 0, 0, false},
		{0, math.NaN(), 0, false},
		{0, math.Inf(1), 0, false},
		{0, 1, -1, false},
	} {
		if err := check(c.work, c.factor, c.iterations); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
