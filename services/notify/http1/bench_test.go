package http1

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// BenchmarkClients compares this client with those it was chosen over, with 64 concurrent requests.
// The time is CPU time of all cores; it includes the server, which costs next to nothing.
func BenchmarkClients(b *testing.B) {
	s := newScripted(b, "HTTP/1.1 204 No Content\r\nDate: Mon, 23 Nov 2026 05:32:04 GMT\r\n\r\n", false)
	body := strings.Repeat("x", 300)
	newReq := func() *http.Request { return newRequest(b, b.Context(), s.url, body) }
	own := newClient(b, 10*time.Second)
	own.MaxIdle = 1000
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1000
	defer transport.CloseIdleConnections()
	std := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	fast := &fasthttp.Client{MaxConnsPerHost: 1000, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	defer fast.CloseIdleConnections()
	for _, client := range []struct {
		name string
		do   func() error
	}{
		{"http1", func() error { _, err := own.Do(newReq()); return err }},
		{"nethttp", func() error {
			resp, err := std.Do(newReq())
			if err != nil {
				return err
			}
			io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		}},
		{"fasthttp", func() error {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.SetRequestURI(s.url)
			req.Header.SetMethod(http.MethodPost)
			req.Header.Set("X-Test", "yes")
			req.SetBodyString(body)
			return fast.DoTimeout(req, resp, 10*time.Second)
		}},
	} {
		b.Run(client.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := client.do(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
