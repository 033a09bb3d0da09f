package response

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	tmthrgd "github.com/tmthrgd/go-hex"
)

// decodesAsTheStandardLibrary compares unhex with encoding/hex, and checks that it neither reads
// nor writes outside its bytes.
func decodesAsTheStandardLibrary(t *testing.T, digits []byte) {
	t.Helper()
	want := make([]byte, hex.DecodedLen(len(digits)))
	_, err := hex.Decode(want, digits)
	memory := bytes.Repeat([]byte{0xEE}, len(digits)/2+40)
	a := Answer{memory: memory[: 0 : len(digits)/2]}
	got, ok := a.unhex(bytes.Clone(digits))
	if ok != (err == nil) || ok && !bytes.Equal(got, want) {
		t.Fatalf("%q: %x, %v; encoding/hex says %x, %v", digits, got, ok, want, err)
	}
	if rest := memory[len(digits)/2:]; len(bytes.TrimLeft(rest, "\xEE")) > 0 {
		t.Fatalf("%q: it wrote %x after the memory", digits, rest)
	}
}

// Every pair of bytes, at offsets that the vector loop and its tails read.
func TestUnhexPairs(t *testing.T) {
	for _, size := range []int{2, 14, 16, 18, 30, 34, 64} {
		digits := []byte(strings.Repeat("aF", size/2))
		for at := 0; at < size; at += 2 {
			for pair := range 1 << 16 {
				digits[at], digits[at+1] = byte(pair), byte(pair>>8)
				if at > 0 && at < size-2 && pair>>8 != 'f' && byte(pair) != '0' {
					continue // between them, each byte once
				}
				decodesAsTheStandardLibrary(t, digits)
			}
			digits[at], digits[at+1] = 'a', 'F'
		}
	}
}

func FuzzUnhex(f *testing.F) {
	for _, s := range []string{"", "0", "aF", "0g", strings.Repeat("09afAF", 11), strings.Repeat("0", 33) + "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(decodesAsTheStandardLibrary)
}

// BenchmarkHex decodes strings of the sizes that transactions and their metadata have.
func BenchmarkHex(b *testing.B) {
	for _, d := range []struct {
		name   string
		decode func(dst, src []byte) (int, error)
	}{{"encoding-hex", hex.Decode}, {"vector", tmthrgd.Decode}} {
		for _, size := range []int{500, 2000} {
			b.Run(fmt.Sprint(d.name, "-", size), func(b *testing.B) {
				digits, into := []byte(strings.Repeat("7F0c", size/4)), make([]byte, size/2)
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := d.decode(into, digits); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
