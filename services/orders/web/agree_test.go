package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// last is what may be sent after a request: both servers close the connection when they have
// answered it.
const last = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

// exchange sends text on a connection of its own and returns all answers that come until the server
// closes it.
func exchange(t *testing.T, address, text string) (statuses []int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, text)
	in := bufio.NewReader(c)
	method, _, _ := strings.Cut(text, " ")
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, resp.Body)
		statuses = append(statuses, resp.StatusCode)
		method = "GET"
	}
}

// Both servers show a handler the same of the same headers: all fields of a name, as a list.
func TestHeadersAgree(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var got Request
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			got = *req
			for _, field := range fields {
				*got.field(field) = strings.Clone(*req.field(field))
			}
			resp.Status = 200
		}))
		for lines, want := range map[string]string{
			"%s: a\r\n":                         "a",
			"%s: a\r\n%s: b\r\n%s: c\r\n":       "a, b, c",
			"%s:a\r\nX: y\r\n%s:\tb \t\r\n":     "a, b",
			"%s:\r\n%s: b\r\n":                  "b",
			"%s: a\r\n%s:  \r\n":                "a",
			"%s:\r\n%s:\r\n":                    "",
			"%s: a\r\n\tb\r\n":                  "a b",
			"%s:\r\n b\r\n":                     "b",
			"%s: a, b\r\n%s: c\r\n":             "a, b, c",
			"%s: \xff:\"é\"\r\n":                "\xff:\"é\"",
			"X-%s: a\r\n":                       "",
			"%[1]s-X: a\r\nAge: 1\r\n":          "",
			"Connection: %[1]s\r\n%[1]s: a\r\n": "a",
		} {
			for _, name := range fields {
				for _, spelt := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
					head := strings.ReplaceAll(strings.ReplaceAll(lines, "%[1]s", spelt), "%s", spelt)
					got = Request{}
					answers, _ := send(t, address, "POST / HTTP/1.1\r\nHost: x\r\n"+head+"Content-Length: 0\r\n\r\n", 1)
					if refusable(head) && answers[0].StatusCode == 400 {
						continue
					}
					if *got.field(name) != want {
						t.Errorf("%q: %q, want %q", head, *got.field(name), want)
					}
				}
			}
		}
	})
}

var fields = []string{"Authorization", "Accept", "Accept-Encoding", "Cache-Control", "Content-Type", "If-None-Match", "Traceparent", "Tracestate", "X-Trace-Sampling",
	"Origin", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Access-Control-Request-Method"}

// A trailer is no header, or what checks headers could be passed by.
func TestTrailersAreNoHeaders(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var got, body string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			got, body = strings.Clone(req.Accept), string(req.Body)
			resp.Status = 200
		}))
		send(t, address, "POST / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nTrailer: Accept\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nAccept: b\r\n\r\n", 1)
		if got != "a" || body != "z" {
			t.Errorf("Accept %q, body %q", got, body)
		}
	})
}

// Where a request ends is what its sender and both servers agree on, or it is refused and nothing
// after it is read: what is a body to one and a request to another could be smuggled past whatever
// stands between.
func TestFraming(t *testing.T) {
	const chunk = "1\r\na\r\n0\r\n\r\n"
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var seen []string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			resp.Status = 200
			if req.BodyErr != nil {
				resp.Status = 400
				return
			}
			seen = append(seen, fmt.Sprintf("%s %s", req.Path, req.Body))
		}))
		for text, want := range map[string]string{ // the body as it is served; "": it may be refused only
			"Content-Length: 3\r\n\r\nabc":                                              "abc",
			"Transfer-Encoding: chunked\r\n\r\n" + chunk:                                "a",
			"Transfer-Encoding: \t Chunked \r\n\r\n" + chunk:                            "a",
			"Transfer-Encoding:\r\n chunked\r\n\r\n" + chunk:                            "a",
			"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunk:           "",
			"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk:           "",
			"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\n\r\n":                 "a",
			"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc":                         "abc",
			"Content-Length: 3\r\nContent-Length: 2\r\n\r\nabc":                         "",
			"Content-Length: 3, 3\r\n\r\nabc":                                           "",
			"Content-Length: +3\r\n\r\nabc":                                             "",
			"Content-Length: -3\r\n\r\nabc":                                             "",
			"Content-Length: 0x3\r\n\r\nabc":                                            "",
			"Content-Length: 99999999999999999999\r\n\r\nabc":                           "",
			"Content-Length:\r\n\r\nabc":                                                "",
			"Content-Length : 3\r\n\r\nabc":                                             "",
			"Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n" + chunk:           "",
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk:  "",
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunk: "",
			"Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc":               "",
			"Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc":                        "",
			"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk:                          "",
			"Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc":               "",
			"Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc":               "",
			"Transfer-Encoding: \x0bchunked\r\nContent-Length: 3\r\n\r\nabc":            "",
			"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n":                             "",
			"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n":                    "",
			"Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n":                    "",
			"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n":                   "",
			"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\na\r\n0\r\n\r\n":     "",
			"Transfer-Encoding: identity\nContent-Length: 3\n\nabc":                     "",
		} {
			seen = nil
			statuses := exchange(t, address, "POST /first HTTP/1.1\r\nHost: x\r\n"+text+last)
			served := len(statuses) == 2 && statuses[0] == 200 && statuses[1] == 200 && want != "" && strings.Join(seen, "|") == "/first "+want+"|/next "
			refused := len(statuses) == 1 && statuses[0] >= 400 && len(seen) == 0
			if !served && !refused || want != "" && refused && !refusable(text) {
				t.Errorf("%q: %v, served %q", text, statuses, seen)
			}
		}
	})
}

// refusable reports whether a server may refuse a framing that another one accepts: one that is
// said twice, or on a line that is continued.
func refusable(head string) bool {
	return strings.Count(head, "Content-Length")+strings.Count(head, "Transfer-Encoding") > 1 || continued.MatchString(head)
}

var continued = regexp.MustCompile(`\r\n[ \t]`)

// What follows an HTTP/1.0 request is never read as another when its length is in doubt.
func TestFramingOfHTTP10(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var seen []string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			seen = append(seen, strings.Clone(req.Path))
			resp.Status = 200
		}))
		exchange(t, address, "POST /first HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"+last)
		if strings.Contains(strings.Join(seen, " "), "/next") {
			t.Errorf("served %q", seen)
		}
	})
}

// A path is what net/http makes of it: nothing is cleaned on the way.
func TestTarget(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var got string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			got = req.Path + " " + req.Query
			resp.Status = 200
		}))
		for target, want := range map[string]string{
			"/a/../b//c?x=%20": "/a/../b//c x=%20",
			"//h/a":            "//h/a ",
			"/a#b?c#d":         "/a#b c#d",
			"/%61%2Fb?":        "/a/b ",
			"/a?b?c":           "/a b?c",
			"http://x/a?b":     "/a b",
			"HTTPS://x/a?b":    "/a b",
		} {
			got = ""
			send(t, address, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n", 1)
			if got != want {
				t.Errorf("%s: %q, want %q", target, got, want)
			}
		}
		if statuses := exchange(t, address, "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"+last); len(statuses) != 1 || statuses[0] != 400 {
			t.Errorf("%v", statuses)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, uri := range []string{"", "/", "/a?b", "//a/../b", "/%61?%", "/%", "*", "http://h/p?q", "a:b", "/a#b", "?"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		for _, c := range []byte(uri) {
			if c <= ' ' || c == 0x7f {
				return // fasthttp lets none of them through
			}
		}
		var r Request
		_, got := r.target(uri)
		u, err := url.ParseRequestURI(uri)
		if (got == nil) != (err == nil) || err == nil && (r.Path != u.Path || r.Query != u.RawQuery) {
			t.Errorf("%q: %q %q %v; net/url: %v %v", uri, r.Path, r.Query, got, u, err)
		}
	})
}

// HEAD has the headers of its GET, Content-Length too, and no body.
func TestHead(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			resp.Status, resp.ContentType, resp.ETag = 200, "a/b", `"1"`
			resp.Body = append(resp.Body, req.Query...)
		}))
		for body, length := range map[string]string{"": "0", "x": "1", strings.Repeat("long", 3000): "12000"} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "HEAD /?%s HTTP/1.1\r\nHost: x\r\n\r\nGET /?%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", body, body)
			in := bufio.NewReader(c)
			for _, method := range []string{"HEAD", "GET"} {
				resp, err := http.ReadResponse(in, &http.Request{Method: method})
				if err != nil {
					t.Fatal(err)
				}
				got, _ := io.ReadAll(resp.Body)
				if h := resp.Header; resp.StatusCode != 200 || h.Get("Content-Length") != length || h.Get("Content-Type") != "a/b" || h.Get("Etag") != `"1"` {
					t.Errorf("%s of %s bytes: %d %v", method, length, resp.StatusCode, h)
				}
				if method == "GET" && string(got) != body {
					t.Errorf("GET of %s bytes: %.20q", length, got)
				}
			}
			if rest, _ := io.ReadAll(in); len(rest) > 0 {
				t.Errorf("more came: %.20q", rest)
			}
			c.Close()
		}
	})
}

// A panic is answered, with nothing of what was written before it, and the connection and the
// server go on.
func TestPanic(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			*resp = Response{Status: 200, ContentType: "secret", ETag: "secret", Warning: "secret", Allow: "secret", Body: append(resp.Body, "secret"...)}
			if req.Path == "/panic" {
				panic(errors.New("secret"))
			}
		}))
		answers, bodies := send(t, address, "GET /panic HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 2)
		if answers[0].StatusCode != 500 || bodies[0] != "{\"error\":\"this went wrong here; it has been logged\"}\n" || answers[0].Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %q", answers[0].StatusCode, bodies[0])
		}
		if all := fmt.Sprint(answers[0].Header); strings.Contains(all, "secret") {
			t.Error(all)
		}
		if answers[1].StatusCode != 200 || bodies[1] != "secret" {
			t.Errorf("the next: %d %q", answers[1].StatusCode, bodies[1])
		}
	})
}

// A broken multipart body is the handler's to refuse, as any other that it does not know.
func TestMultipartIsABody(t *testing.T) {
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		var got string
		address := serve(HandlerFunc(func(_ context.Context, req *Request, resp *Response) {
			got = fmt.Sprintf("%s %s %v", req.ContentType, req.Body, req.BodyErr)
			resp.Status = http.StatusUnsupportedMediaType
		}))
		answers, _ := send(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 3\r\n\r\nabc", 1)
		if answers[0].StatusCode != 415 || got != "multipart/form-data; boundary=b abc <nil>" {
			t.Errorf("%d %s", answers[0].StatusCode, got)
		}
	})
}
