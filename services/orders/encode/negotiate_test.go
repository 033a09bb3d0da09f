package encode

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNegotiate(t *testing.T) {
	const none Format = 0
	for accept, want := range map[string]Format{
		"":                                    AsJSON,
		" \t":                                 AsJSON,
		"*/*":                                 AsJSON,
		"application/*":                       AsJSON,
		"application/json":                    AsJSON,
		"application/msgpack":                 AsMsgpack,
		"application/x-msgpack":               AsMsgpack,
		"application/vnd.msgpack":             AsMsgpack,
		"Application/MsgPack":                 AsMsgpack,
		"application/json;charset=utf-8":      AsJSON,
		"text/html, application/msgpack":      AsMsgpack,
		"text/html, */*;q=0.1":                AsJSON,
		"text/html":                           none,
		"text/*":                              none,
		"application/msgpack;q=0.5, */*;q=.4": AsMsgpack, // the second weight is invalid
		// weights
		"application/json;q=0.5, application/msgpack;q=0.6":                 AsMsgpack,
		"application/json;q=0.6, application/msgpack;q=0.5":                 AsJSON,
		"application/json; Q=0.5 ;x=y,application/msgpack ; q=0.501":        AsMsgpack,
		"application/msgpack;q=0.001":                                       AsMsgpack,
		"application/msgpack;q=1.000, application/json;q=0.999":             AsMsgpack,
		"application/msgpack;q=0.2, application/x-msgpack;q=0.9, */*;q=0.5": AsMsgpack,
		// refusals
		"application/json;q=0":                             none,
		"*/*;q=0":                                          none,
		"application/msgpack;q=0, */*":                     AsJSON,
		"application/json;q=0, */*":                        AsMsgpack,
		"application/json;q=0, application/*;q=0.1":        AsMsgpack,
		"*/*, application/*;q=0":                           none,
		"application/msgpack;q=0.0, application/json;q=0.": none,
		// equal weights
		"*/*, application/msgpack":                 AsMsgpack,
		"application/msgpack, */*":                 AsMsgpack,
		"application/msgpack, application/json":    AsMsgpack,
		"application/json, application/msgpack":    AsJSON,
		"application/*, application/json":          AsJSON,
		"application/msgpack, application/*;q=0.9": AsMsgpack,
		"application/msgpack;q=0.8, */*;q=0.9":     AsJSON,
		// elements that cannot be parsed
		"application/json;q=2":                             none,
		"application/json;q=-1":                            none,
		"application/json;q=1.001":                         none,
		"application/json;q=0.1234":                        none,
		"application/json;q=":                              none,
		"application/json;q=NaN":                           none,
		"application/json;q=2, application/msgpack;q=0.1":  AsMsgpack,
		",,;q=1,, application/msgpack,":                    AsMsgpack,
		`text/x;a="b,application/json;q=1"`:                none,
		`text/x;a="\"",application/msgpack;b=";q=0";q=0.1`: AsMsgpack,
		`application/json;a="`:                             AsJSON,
		"json":                                             none,
		"*":                                                none,
	} {
		got, ok := Negotiate(accept)
		if ok != (want != none) || ok && got != want {
			t.Errorf("%q: %d %t, want %d", accept, got, ok, want)
		}
	}
}

// A plain reading of RFC 9110: each format has the weight of its closest range; the higher one
// wins.
func TestNegotiateByWeight(t *testing.T) {
	ranges := []string{"*/*", "application/*", "application/json", "application/msgpack", "text/html"}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(ranges).Draw(t, "ranges")[:rapid.IntRange(1, len(ranges)).Draw(t, "n")]
		weights := map[string]int{}
		var header []string
		for _, name := range order {
			weights[name] = rapid.IntRange(0, 10).Draw(t, name)
			header = append(header, name+rapid.SampledFrom([]string{";q=", " ; q=", `;v="1,2";q=`}).Draw(t, "q")+strconv.FormatFloat(float64(weights[name])/10, 'f', -1, 64))
		}
		weight := func(format string) int {
			for _, name := range []string{format, "application/*", "*/*"} {
				if q, ok := weights[name]; ok {
					return q
				}
			}
			return 0
		}
		json, msgpack := weight("application/json"), weight("application/msgpack")
		got, ok := Negotiate(strings.Join(header, ","))
		if ok != (json+msgpack > 0) || json > msgpack && got != AsJSON || msgpack > json && got != AsMsgpack {
			t.Fatalf("%q: %d %t with JSON at %d and msgpack at %d", header, got, ok, json, msgpack)
		}
	})
}

// FuzzNegotiate: case and spaces do not matter, and a client that accepts all other types is always
// served.
func FuzzNegotiate(f *testing.F) {
	f.Add("application/json;q=0.5, application/msgpack;q=0.6")
	f.Add(`text/x;a="b,\"c";q=0, */*;q=0.001`)
	f.Fuzz(func(t *testing.T, accept string) {
		got, ok := Negotiate(accept)
		if got != AsJSON && got != AsMsgpack {
			t.Fatalf("%q: %d", accept, got)
		}
		if again, okAgain := Negotiate("\t" + strings.ToUpper(accept) + " "); ascii(accept) && (again != got || okAgain != ok) {
			t.Fatalf("%q: %d %t, and %d %t in capitals", accept, got, ok, again, okAgain)
		}
		if _, ok := Negotiate("application/json;q=0.001," + accept); !ok && !strings.Contains(strings.ToLower(accept), "json") {
			t.Fatalf("%q: nothing to a client that takes JSON too", accept)
		}
		Compress(nil, page, accept)
	})
}

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0
}

func TestNegotiateAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		Negotiate("text/html, application/msgpack;q=0.5, */*;q=0.1")
		acceptsZstd("gzip, deflate, br, zstd;q=0.5")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
