package encode

import (
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// worthwhile is the size of the shortest body that is compressed, in bytes. One order is shorter,
	// and fits into a packet with its headers either way.
	worthwhile = 512

	// window is the maximum distance of a match, in bytes: a page of 500 orders is about 110 KB.
	window = 128 << 10
)

// encoder holds one state per core, of 0.4 MB with this window. A call runs on the caller's
// goroutine and waits for a state: more states than cores could not run concurrently.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false)) // TCP and TLS have checksums
	if err != nil {
		panic("encode: zstd refuses its options: " + err.Error()) // they are constants: a test would have failed
	}
	return e
})

// Compress appends body to dst as zstd if the Accept-Encoding header allows it and the result is
// shorter; otherwise it returns dst unchanged and false. dst must not overlap body.
func Compress(dst, body []byte, acceptEncoding string) ([]byte, bool) {
	if len(body) < worthwhile || !acceptsZstd(acceptEncoding) {
		return dst, false
	}
	out := encoder().EncodeAll(body, dst)
	if len(out)-len(dst) >= len(body) {
		return out[:len(dst)], false
	}
	return out, true
}

// acceptsZstd parses an Accept-Encoding header (RFC 9110, 12.5.3). Of higher weight, identity wins.
func acceptsZstd(header string) bool {
	named, any, identity := -1, -1, -1 // weights in thousandths; -1 means absent
	for rest := header; rest != ""; {
		var element string
		element, rest = cut(rest, ',')
		name, q, ok := weighted(element)
		switch {
		case !ok:
		case strings.EqualFold(name, "zstd"):
			named = max(named, q)
		case strings.EqualFold(name, "identity"):
			identity = max(identity, q)
		case name == "*":
			any = max(any, q)
		}
	}
	q := named
	if q < 0 {
		q = any
	}
	return q > 0 && q >= identity
}
