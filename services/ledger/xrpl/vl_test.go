package xrpl

import (
	"errors"
	"testing"
)

func TestLengthsReadAsWritten(t *testing.T) {
	var b []byte
	for n := 0; n <= MaxVL; n++ {
		b = AppendVL(b[:0], n)
		got, size, err := ReadVL(b)
		if got != n || size != len(b) || err != nil {
			t.Fatalf("%d is written as %X and read as %d, %d bytes: %v", n, b, got, size, err)
		}
	}
}

func TestLengthsOutOfBounds(t *testing.T) {
	for _, b := range [][]byte{nil, {193}, {240}, {241, 0}, {254, 255, 255}, {255, 0, 0}, AppendVL(nil, -1), AppendVL(nil, MaxVL+1)} {
		if n, size, err := ReadVL(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%X is read as %d, %d bytes: %v", b, n, size, err)
		}
	}
}

func FuzzReadVL(f *testing.F) {
	f.Add([]byte{254, 212, 24})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, size, err := ReadVL(b)
		if err != nil {
			return
		}
		if again := AppendVL(nil, n); string(again) != string(b[:size]) {
			t.Errorf("%X is %d, which is written as %X", b[:size], n, again)
		}
	})
}
