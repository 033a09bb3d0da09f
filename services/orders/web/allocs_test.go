//go:build !race

package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

const orderRequest = "GET /api/v1/order?uid=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\nAccept: application/json\r\nAccept-Encoding: zstd\r\nAuthorization: Bearer abc.def.ghi\r\n\r\n"
const submitRequest = "POST /api/v1/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer abc.def.ghi\r\nContent-Length: 9\r\n\r\n{\"a\":\"b\"}"

// The gates of what an adapter and its server allocate for a request, so that nothing slips in.
// fasthttp's is zero; net/http makes a Request, a header map, a context and more for each; a loop
// starts a goroutine for a request that is not begun.
var allocsGate = map[string]float64{"fasthttp": 0, "nethttp": 40, "loop": 1}

func TestAllocs(t *testing.T) {
	body := []byte(strings.Repeat("x", 200))
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, _ *Request, resp *Response) {
			resp.Status, resp.ContentType, resp.ETag, resp.Vary = 200, "application/json", `"7-1"`, "Accept, Accept-Encoding"
			resp.Body = append(resp.Body, body...)
		}))
		for _, text := range []string{orderRequest, submitRequest} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			request, in := []byte(text), bufio.NewReader(c)
			answer := make([]byte, wholeAnswer(t, c, in, request))
			got := testing.AllocsPerRun(2000, func() {
				c.Write(request)
				if _, err := io.ReadFull(in, answer); err != nil {
					t.Fatal(err)
				}
			})
			c.Close()
			_, name, _ := strings.Cut(t.Name(), "/")
			t.Logf("%.20q: %v allocations", text, got)
			if got > allocsGate[name] {
				t.Errorf("%.20q: %v allocations, at most %v", text, got, allocsGate[name])
			}
		}
	})
}

// wholeAnswer is how many bytes the answer to a request has.
func wholeAnswer(t *testing.T, c net.Conn, in *bufio.Reader, request []byte) (n int) {
	t.Helper()
	c.Write(request)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if n += len(line); line == "\r\n" {
			break
		}
	}
	rest := make([]byte, 200) // the body
	if _, err := io.ReadFull(in, rest); err != nil {
		t.Fatal(err)
	}
	return n + len(rest)
}
