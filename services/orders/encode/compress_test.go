package encode

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"dyno/services/orders/order"
)

// page is a body like that of 50 orders.
var page = func() []byte {
	p := order.Page{Next: 1}
	for i := range 50 {
		o := acme
		o.UID, o.Price = int64(1000-i), order.Decimal(i*1234567)
		p.Orders = append(p.Orders, o)
	}
	return appender{}.Page(nil, &p, "next")
}()

func decompress(t rapid.TB, body []byte) []byte {
	t.Helper()
	// A window of 8 MB is the maximum that every client supports by RFC 9659; ours is smaller.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	out, err := d.DecodeAll(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCompress(t *testing.T) {
	got, ok := Compress([]byte("before"), page, "gzip, zstd")
	if !ok || !bytes.HasPrefix(got, []byte("before")) || !bytes.Equal(decompress(t, got[6:]), page) {
		t.Fatalf("%t: %d bytes", ok, len(got))
	}
	if len(got) > len(page)/3 {
		t.Errorf("%d bytes of %d", len(got), len(page))
	}
	noise := make([]byte, 4096)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	for what, body := range map[string][]byte{"short": page[:worthwhile-1], "noise": noise, "empty": nil} {
		if got, ok := Compress([]byte("before"), body, "zstd"); ok || string(got) != "before" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if _, ok := Compress(nil, page[:worthwhile], "zstd"); !ok {
		t.Errorf("%d bytes are not compressed", worthwhile)
	}
}

func TestAcceptEncoding(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": false, "gzip, deflate, br": false, "zstd": true, "ZSTD": true, "gzip, deflate, br, zstd": true, "*": true, "gzip;q=0, *;q=0.1": true,
		"zstd;q=0": false, "zstd;q=0.000, *": false, "*;q=0": false, "*;q=0, zstd;q=0.001": true, "zstd;q=2": false, "zstd;q=0.5": true, "xzstd": false,
		"identity": false, "identity;q=0": false, "identity, zstd": true, "identity;q=1, zstd;q=0.5": false, "identity;q=0.5, zstd;q=0.5": true,
		"identity, *;q=0.5": false, "identity;q=0.5, *": true, " zstd ; q=1.0 ,": true,
	} {
		if _, ok := Compress(nil, page, header); ok != want {
			t.Errorf("%q: %t", header, ok)
		}
	}
}

// Every compressed body, also from concurrent calls, can be decompressed.
func TestCompressRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringN(0, 40, 80), 1, 8).Draw(t, "words")
		body := []byte(strings.Repeat(strings.Join(words, ","), rapid.IntRange(1, 400).Draw(t, "times")))
		var all sync.WaitGroup
		var got [4][]byte
		var ok [4]bool
		for i := range got {
			all.Go(func() { got[i], ok[i] = Compress(nil, body, "zstd") })
		}
		all.Wait()
		for i := range got {
			if ok[i] != ok[0] || ok[i] && (len(got[i]) >= len(body) || !bytes.Equal(decompress(t, got[i]), body)) {
				t.Fatalf("%q became %q", body, got[i])
			}
		}
	})
}

func TestCompressAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, len(page))
	Compress(dst, page, "zstd") // creates the encoder
	if n := testing.AllocsPerRun(100, func() { Compress(dst, page, "zstd") }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCompress(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	dst := make([]byte, 0, len(page))
	for b.Loop() {
		dst, _ = Compress(dst[:0], page, "zstd")
	}
	b.ReportMetric(float64(len(dst))/float64(len(page)), "of-size")
}
