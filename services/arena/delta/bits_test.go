package delta

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestBitCodes(t *testing.T) {
	for _, test := range []struct {
		v     uint32
		order int
		want  string
	}{
		{0, 0, "1"}, {1, 0, "010"}, {2, 0, "011"}, {3, 0, "00100"}, {0, 3, "1000"}, {7, 3, "1111"}, {8, 3, "010000"}, {math.MaxUint32, 0, "000000000000000000000000000000001" + "00000000000000000000000000000000"},
	} {
		var w bitWriter
		w.Number(test.v, test.order)
		if n := numberLen(test.v, test.order); n != len(test.want) {
			t.Errorf("%d of order %d: %d bits, not %d", test.v, test.order, n, len(test.want))
		}
		r, got := newBitReader(w.End()), ""
		for range test.want {
			got += string(rune('0' + r.Bits(1)))
		}
		if got != test.want || r.End() != nil {
			t.Errorf("%d of order %d: %s, not %s; %v", test.v, test.order, got, test.want, r.Err())
		}
	}
}

// What is written is read, in as many bits as the lengths say.
func TestBitRoundTrip(t *testing.T) {
	type number struct {
		Kind, Width int
		V           uint32
	}
	numbers := rapid.Custom(func(t *rapid.T) number {
		width := rapid.IntRange(0, 32).Draw(t, "bits")
		return number{rapid.IntRange(0, 3).Draw(t, "kind"), rapid.IntRange(0, 32).Draw(t, "width"), uint32(rapid.Uint64Range(0, 1<<width-1).Draw(t, "v"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(numbers).Draw(t, "numbers")
		var w bitWriter
		length := 0
		for _, n := range list {
			switch n.Kind {
			case 0:
				w.Bits(n.V, n.Width)
				length += n.Width
			case 1:
				w.Number(n.V, n.Width)
				length += numberLen(n.V, n.Width)
			case 2:
				w.Signed(int32(n.V), n.Width)
				length += signedLen(int32(n.V), n.Width)
			case 3:
				w.Flag(n.V&1 == 1)
				length++
			}
		}
		out := w.End()
		if len(out) != (length+7)/8 {
			t.Fatalf("%d bytes for %d bits", len(out), length)
		}
		r := newBitReader(out)
		for i, n := range list {
			switch n.Kind {
			case 0:
				if got, want := r.Bits(n.Width), uint32(uint64(n.V)&(1<<n.Width-1)); got != want {
					t.Fatalf("number %d: %d, not %d", i, got, want)
				}
			case 1:
				if got := r.Number(n.Width); got != n.V {
					t.Fatalf("number %d: %d, not %d", i, got, n.V)
				}
			case 2:
				if got := r.Signed(n.Width); got != int32(n.V) {
					t.Fatalf("number %d: %d, not %d", i, got, int32(n.V))
				}
			case 3:
				if got := r.Flag(); got != (n.V&1 == 1) {
					t.Fatalf("number %d: %t", i, got)
				}
			}
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBitErrors(t *testing.T) {
	for name, test := range map[string]struct {
		in   []byte
		read func(*bitReader)
		want error
	}{
		"short":        {[]byte{1}, func(r *bitReader) { r.Bits(9) }, errShort},
		"short number": {[]byte{0}, func(r *bitReader) { r.Number(0) }, errShort},
		"zeros":        {make([]byte, 100), func(r *bitReader) { r.Number(0) }, errLarge},
		"33 bits":      {[]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}, func(r *bitReader) { r.Number(0) }, errLarge},
		"a byte more":  {[]byte{1, 0}, func(r *bitReader) { r.Bits(8) }, errRest},
		"not zeros":    {[]byte{1}, func(r *bitReader) { r.Bits(7) }, errRest},
	} {
		r := newBitReader(test.in)
		test.read(&r)
		if err := r.End(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, not %v", name, err, test.want)
		}
		if test.want != errRest && (r.Bits(32) != 0 || r.Number(3) != 0 || r.Signed(0) != 0 || r.Left() != 0) {
			t.Errorf("%s: numbers after the error", name)
		}
	}
}

// FuzzBitReader reads any bytes by any calls, and each Number that is read has one code only.
func FuzzBitReader(f *testing.F) {
	f.Add([]byte{0, 8, 65, 3}, []byte{0xff, 0, 1})
	f.Add([]byte{66, 67, 128, 130}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{64}, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, calls, in []byte) {
		r := newBitReader(in)
		var w bitWriter
		for _, c := range calls {
			width := int(c&63) % (widest + 1)
			switch c >> 6 {
			case 0:
				v := r.Bits(width)
				if r.Err() == nil {
					w.Bits(v, width)
				}
			case 1:
				v := r.Number(width)
				if r.Err() == nil {
					w.Number(v, width)
				}
			default:
				v := r.Signed(width)
				if r.Err() == nil {
					w.Signed(v, width)
				}
			}
		}
		if r.End() == nil && string(w.End()) != string(in) {
			t.Fatalf("%x was read, %x is written", in, w.Bytes)
		}
	})
}

func TestBitAllocations(t *testing.T) {
	buffer := make([]byte, 0, 1024)
	if got := testing.AllocsPerRun(100, func() {
		out := appendNumbers(buffer)
		r := newBitReader(out)
		for range 100 {
			r.Bits(3)
			r.Number(4)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func appendNumbers(buffer []byte) []byte {
	w := bitWriter{Bytes: buffer}
	for i := range uint32(100) {
		w.Bits(i, 3)
		w.Number(i, 4)
	}
	return w.End()
}
