package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/parts/httploop"
	"dyno/parts/lameduck"
)

const testMaxBody = 1000

var fastOptions = FastOptions{MaxBody: testMaxBody, MaxConnections: 100, ClientTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)}

// servers serve a handler until the test ends, and say where.
var servers = map[string]func(t *testing.T, h Handler) (address string){
	"nethttp": func(t *testing.T, h Handler) string {
		l := listen(t)
		s := lameduck.NewServer(&http.Server{Handler: HTTP(h, testMaxBody)}, l) // as parts/daemon does
		go s.Serve(l)
		t.Cleanup(func() {
			if err := s.Drain(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return l.Addr().String()
	},
	"fasthttp": func(t *testing.T, h Handler) string {
		return start(t, NewFast(h, fastOptions))
	},
	"loop": func(t *testing.T, h Handler) string {
		l, err := NewLoop(h, LoopOptions{FastOptions: fastOptions, Loops: 2, MaxConcurrent: 16_384})
		if errors.Is(err, httploop.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return start(t, l)
	},
}

// start serves until the end of the test.
func start(t *testing.T, s interface {
	Start(net.Listener, *lameduck.Listener, func(error))
	Drain(context.Context) error
}) string {
	l := listen(t)
	s.Start(l, l, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		if err := s.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func onEach(t *testing.T, test func(t *testing.T, serve func(Handler) string)) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			verifyNoLeak(t)
			test(t, func(h Handler) string { return start(t, h) })
		})
	}
}

// send sends raw text on a connection of its own and reads the answers to that many requests.
func send(t *testing.T, address, text string, answers int) (out []*http.Response, bodies []string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, text)
	in := bufio.NewReader(c)
	for range answers {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", len(out)+1, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		out, bodies = append(out, resp), append(bodies, string(body))
	}
	return out, bodies
}

func TestRequest(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var got string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			got = fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%v", req.Method, req.Path, req.Query, req.Authorization, req.Accept, req.AcceptEncoding,
				req.CacheControl, req.ContentType, req.IfNoneMatch, req.Traceparent, req.Body, req.BodyErr)
			resp.Status = 204
		}))
		for text, want := range map[string]string{
			"GET /a/b?x=1&y=%20 HTTP/1.1\r\nHost: x\r\n\r\n":                                                                                 "GET|/a/b|x=1&y=%20||||||||<nil>|",
			"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n":                                        "GET|/||Bearer a, Bearer b|||||||<nil>|",
			"POST /p%61th HTTP/1.1\r\nHost: x\r\nContent-Type: a/b; c=d\r\nContent-Length: 3\r\n\r\nabc":                                     "POST|/path||||||a/b; c=d|||<nil>|abc",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n":                                 "POST|/||||||||||abc",
			"GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nAccept-Encoding: b\r\nCache-Control: c\r\nIf-None-Match: d\r\ntraceparent: e\r\n\r\n": "GET|/|||a|b|c||d|e",
		} {
			send(t, address, text, 1)
			if !sameFields(got, want) {
				t.Errorf("%q\n gave %s\n want %s", text, got, want)
			}
		}
	})
}

// sameFields compares what is there, in order, whatever is empty between.
func sameFields(a, b string) bool {
	fields := func(s string) []string {
		return strings.FieldsFunc(strings.ReplaceAll(s, "<nil>", ""), func(r rune) bool { return r == '|' })
	}
	return strings.Join(fields(a), "|") == strings.Join(fields(b), "|")
}

func TestResponse(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			if req.Path == "/bare" {
				resp.Status = http.StatusNotModified
				resp.ETag = `"1-2"`
				return
			}
			*resp = Response{Status: 503, ContentType: "a/b", ContentEncoding: "zstd", Allow: "GET", Challenge: "Bearer", ETag: `"1"`,
				RetryAfter: 1001 * time.Millisecond, Vary: "Accept", Warning: "110", Body: append(resp.Body, req.Path...)}
		}))
		answers, bodies := send(t, address, "GET /whole HTTP/1.1\r\nHost: x\r\n\r\nGET /bare HTTP/1.1\r\nHost: x\r\n\r\nGET /again HTTP/1.1\r\nHost: x\r\n\r\n", 3)
		for name, want := range map[string]string{"Content-Type": "a/b", "Content-Encoding": "zstd", "Allow": "GET", "Www-Authenticate": "Bearer", "Etag": `"1"`,
			"Retry-After": "2", "Vary": "Accept", "Warning": "110", "Content-Length": "6", "Server": ""} {
			if got := answers[0].Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if answers[0].StatusCode != 503 || bodies[0] != "/whole" || bodies[2] != "/again" {
			t.Errorf("%d %q", answers[0].StatusCode, bodies)
		}
		if h := answers[1].Header; answers[1].StatusCode != 304 || bodies[1] != "" || h.Get("Etag") != `"1-2"` || h.Get("Warning") != "" || h.Get("Content-Type") != "" {
			t.Errorf("%d %v %q", answers[1].StatusCode, h, bodies[1])
		}
	})
}

func TestTooLarge(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			resp.Status = 200
			if errors.Is(req.BodyErr, ErrTooLarge) {
				resp.Status = http.StatusRequestEntityTooLarge
			}
		}))
		body := strings.Repeat("x", testMaxBody+1)
		for text, want := range map[string]int{
			fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", testMaxBody, body[1:]):                      200,
			fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body):                            413,
			fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body): 413,
			fmt.Sprintf("GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", bytes.Repeat([]byte("x"), 2<<20)):                           431,
			"GET / HTTP/9.9\r\nHo st\r\n\r\n": 0,
		} {
			answers, _ := send(t, address, text, 1)
			if got := answers[0].StatusCode; got != want && (want != 0 || got < 400) {
				t.Errorf("%.60q...: %d, want %d", text, got, want)
			}
		}
	})
}

// Answers to pipelined requests come in order, each with its own body.
func TestPipelined(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			resp.Status = 200
			resp.Body = append(resp.Body, req.Query...)
		}))
		var text strings.Builder
		const many = 200
		for i := range many {
			fmt.Fprintf(&text, "GET /?%s HTTP/1.1\r\nHost: x\r\n\r\n", strings.Repeat(fmt.Sprint(i), 1+i%7))
		}
		_, bodies := send(t, address, text.String(), many)
		for i, got := range bodies {
			if want := strings.Repeat(fmt.Sprint(i), 1+i%7); got != want {
				t.Fatalf("answer %d is %q, want %q", i, got, want)
			}
		}
	})
}
