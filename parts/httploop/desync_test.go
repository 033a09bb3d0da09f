//go:build linux

package httploop

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/guard"
	"dyno/parts/quicktest"
)

// smuggled is a request that is never sent as one: it is always a part of a body, or of what only
// some framing takes for a body.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

// attack is a request in a framing that two servers may see differently.
type attack struct {
	text string
	body string // which it is served with; "": it must be refused
}

// firstChunk is of a body whose rest follows in another.
const firstChunk = "3\r\nabc\r\n"

// framings are ways to say where a body ends, right and wrong ones. In a text, %d is the body's
// length, and %x in hexadecimal digits.
var framings = []struct {
	fields, before, after string
	good                  bool // is served, by net/http at least
}{
	{"Content-Length: %d\r\n", "", "", true},
	{"Content-Length: 0%d\r\n", "", "", true},
	{"Content-Length: +%d\r\n", "", "", false},
	{"Content-Length: %d, %d\r\n", "", "", false},
	{"Content-Length: 4\r\nContent-Length: %d\r\n", "", "", false},
	{"Content-Length: %d\r\n Content-Length: 4\r\n", "", "", false},
	{"Content-Length : %d\r\n", "", "", false},
	{"Content-Length: 0x%x\r\n", "", "", false},
	{"Content-Length: %d\nX: y\r\n", "", "", true}, // net/http takes the line feed
	{"Transfer-Encoding: chunked\r\n", "%x\r\n", "\r\n0\r\n\r\n", true},
	{"transfer-encoding:  CHUNKED\t\r\n", firstChunk + "%x;a=\"b\"\r\n", "\r\n0\r\nA: b\r\n\r\n", true},
	{"Transfer-Encoding: chunked\r\n", firstChunk + "00%X\r\n", "\r\n000\r\n\r\n", true},
	{"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", "%x\r\n", "\r\n0\r\n\r\n", true},
	{"Content-Length: %d\r\nExpect: 100-continue\r\n", "", "", true},
	{"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "%x\r\n", "\r\n0\r\n\r\n", false},
	{"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "", false},
	{"Content-Length: %d\r\nTransfer-Encoding: xchunked\r\n", "", "", false},
	{"Content-Length: %d\r\nTransfer-Encoding : chunked\r\n", "0\r\n\r\n", "", false},
	{"Content-Length: %d\r\nTransfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n", "", false},
	{"Content-Length: %d\r\nX: y\r\n Transfer-Encoding: chunked\r\n", "", "", true}, // a continued line, which net/http joins
	{"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "%x\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: identity, chunked\r\n", "%x\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "0x%x\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "+%x\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "-1\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "1\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\n", "%x;\n\r\n", "\r\n0\r\n\r\n", false},
	{"Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n", "%x\r\n", "\r\n0\r\nContent-Length: 9\r\n\r\n", false},
}

// extras are fields that proxies and clients add, which keep a request on the loop, and some that
// do not.
var extras = []string{
	"", "X-Forwarded-For: 10.0.0.1\r\nVia: 1.1 a\r\n", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n",
	"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n", "sec-fetch-mode: cors\r\n", "Connection: keep-alive\r\n",
	"Cookie: a=b\r\n", "Connection: TE\r\nTE: trailers\r\n", "Origin: http://127.0.0.1\r\n",
}

// maxDesyncBody is the body's bound of the loop in the test. Larger ones are handed over.
const maxDesyncBody = 200

func newAttack(random *rand.Rand) attack {
	f := framings[random.IntN(len(framings))]
	body := strings.Repeat("x", random.IntN(2*maxDesyncBody)) + "\r\n\r\n" + smuggled
	fill := func(text string) string {
		return strings.NewReplacer("%d", fmt.Sprint(len(body)), "%x", fmt.Sprintf("%x", len(body)), "%X", fmt.Sprintf("%X", len(body))).Replace(text)
	}
	version, extra := "HTTP/1.1", extras[random.IntN(len(extras))]
	if random.IntN(4) == 0 {
		version, extra = "HTTP/1.0", "Connection: keep-alive\r\n"
	}
	fields := []string{"Host: 127.0.0.1\r\n", fill(f.fields), extra}
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	a := attack{text: "POST /a " + version + "\r\n" + strings.Join(fields, "") + "\r\n" + fill(f.before) + body + f.after}
	if f.good && (version == "HTTP/1.1" || strings.HasPrefix(f.fields, "Content-Length")) {
		a.body = body
		if strings.HasPrefix(f.before, firstChunk) {
			a.body = "abc" + body
		}
	}
	return a
}

// Whatever frames a request, and whichever of the two servers reads it, what is inside its body is
// not served as a request, and what follows it is served if and only if the body was read to its
// end.
func TestNoDesync(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	see := func(path string, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, path+" "+string(body))
	}
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	screen := Screen{Guard: g}
	s := before(t, Options{
		MaxBody: maxDesyncBody, Serves: screen.Denies,
		Turn: func(_ int, requests []*Request) {
			for _, r := range requests {
				see(r.Path, r.Body)
				r.Response.Status = http.StatusOK
			}
			Done(requests...)
		},
	}, func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			see(r.URL.Path, body)
		}
	})

	const canary = "GET /canary HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	random := rand.New(rand.NewPCG(1, 2))
	sessions := tls.NewLRUClientSessionCache(1)
	served, refused := 0, 0
	for range quicktest.Of(1000, 10_000) {
		a := newAttack(random)
		seen = seen[:0]
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		if everywhere != nil {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, ClientSessionCache: sessions})
		}
		c.SetDeadline(time.Now().Add(patience))
		text := a.text + canary
		cut := random.IntN(len(text))
		go func() { // an error says that the server has ended the connection
			io.WriteString(c, text[:cut])
			io.WriteString(c, text[cut:])
		}()
		in := bufio.NewReader(c)
		for {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				break
			}
			io.Copy(io.Discard, resp.Body)
		}
		c.Close()
		mu.Lock()
		got := slices.Clone(seen)
		mu.Unlock()
		switch {
		case len(got) == 0 && a.body == "":
			refused++
		case len(got) == 2 && a.body != "" && got[0] == "/a "+a.body && got[1] == "/canary ":
			served++
		default:
			t.Fatalf("%q\nserved %q", a.text, got)
		}
	}
	t.Logf("%d served, %d refused, handed over %v", served, refused, s.HandedOver())
	if served == 0 || refused == 0 || s.Stats().Requests == 0 || s.HandedOver()[ReasonBody] == 0 {
		t.Errorf("one kind did not occur: %d served, %d refused, handed over %v", served, refused, s.HandedOver())
	}
}
