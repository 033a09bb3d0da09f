package frame

import (
	"bytes"
	"errors"
	"testing"
)

// Headers and records are read as they were written, and refused when any of their bits differ.
func TestRoundTrip(t *testing.T) {
	h := Header{First: 7, PrevFirst: 3, PrevEnd: 1000, Salt: 42}
	data := []byte("nineteen bytes long")
	file := Append(h.Encode(), h.Seed(), Record{Number: 7, Group: 7, More: 1}, nil)
	file = Append(file, h.Seed(), Record{Number: 8, Group: 7}, data)
	if want := HeaderBytes + Span(0) + Span(len(data)); int64(len(file)) != want {
		t.Fatalf("%d bytes, want %d", len(file), want)
	}
	if got, err := ReadHeader(bytes.NewReader(file)); err != nil || got != h {
		t.Fatalf("read %+v, %v", got, err)
	}
	second := HeaderBytes + Span(0)
	read := func(file []byte) (Record, []byte, bool) {
		r := NewReader(bytes.NewReader(file), h.Seed(), int64(len(file)))
		defer r.Free()
		record, data, ok, err := r.Record(second)
		if err != nil {
			t.Fatal(err)
		}
		return record, bytes.Clone(data), ok
	}
	if r, got, ok := read(file); !ok || r.Number != 8 || r.Group != 7 || r.More != 0 || !bytes.Equal(got, data) {
		t.Fatalf("read %+v, %q, %v", r, got, ok)
	}
	for bit := range 8 * (len(file) - int(second) - (int(Span(len(data))) - recordBytes - len(data))) {
		damaged := bytes.Clone(file)
		damaged[int(second)+bit/8] ^= 1 << (bit % 8)
		if _, _, ok := read(damaged); ok {
			t.Fatalf("bit %d of the record differs, and it was accepted", bit)
		}
	}
	for bit := range 8 * HeaderBytes {
		damaged := bytes.Clone(file)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := ReadHeader(bytes.NewReader(damaged)); !errors.Is(err, ErrForeign) && !errors.Is(err, errNewer) {
			t.Fatalf("bit %d of the header differs: %v", bit, err)
		}
	}
}

// Behind damage the next record is found, and the end of what was written.
func TestFind(t *testing.T) {
	h := Header{First: 1, Salt: 42}
	file := h.Encode()
	for n := range uint64(5) {
		file = Append(file, h.Seed(), Record{Number: n + 1, Group: 1}, []byte("data"))
	}
	end := int64(len(file))
	file = append(file, make([]byte, 200_000)...)
	file[HeaderBytes+Span(4)]++ // record 2
	r := NewReader(bytes.NewReader(file), h.Seed(), int64(len(file)))
	defer r.Free()
	for _, tt := range []struct{ after, before, want uint64 }{{1, 9, 3}, {3, 9, 4}, {1, 3, 0}, {5, 9, 0}} {
		off, found, ok, err := r.Find(HeaderBytes+Span(4), tt.after, tt.before)
		if err != nil || ok != (tt.want > 0) || found.Number != tt.want || ok && off != HeaderBytes+int64(tt.want-1)*Span(4) {
			t.Errorf("between %d and %d: record %d at %d, %v, %v", tt.after, tt.before, found.Number, off, ok, err)
		}
	}
	if got, err := r.Written(HeaderBytes); err != nil || got > end || end-got >= Alignment {
		t.Errorf("the written bytes end at %d, want %d: %v", got, end, err)
	}
}
