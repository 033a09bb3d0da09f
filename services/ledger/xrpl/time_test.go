package xrpl

import (
	"math"
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	for seconds, want := range map[uint32]time.Time{
		0:              time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		647_136_000:    time.Date(2020, 7, 4, 0, 0, 0, 0, time.UTC),
		math.MaxUint32: time.Date(2136, 2, 7, 6, 28, 15, 0, time.UTC),
	} {
		if got := Time(seconds); got != want {
			t.Errorf("second %d is %v, not %v", seconds, got, want)
		}
	}
}

func TestHex(t *testing.T) {
	b := []byte{0x00, 0x1f, 0xab, 0xff}
	if got := string(AppendHex([]byte("x"), b)); got != "x001FABFF" || Hex(b) != "001FABFF" || Hex(nil) != "" {
		t.Errorf("%s, %s, %q", got, Hex(b), Hex(nil))
	}
}
