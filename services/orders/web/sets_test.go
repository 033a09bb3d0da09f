package web

import (
	"context"
	"errors"
	"maps"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/headersets"
)

// begun serves with a loop that begins everything, and says where.
func begun(t *testing.T) (l *Loop, address string) {
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	slow := HandlerFunc(func(_ context.Context, _ *Request, resp *Response) { resp.Status = 204 })
	l, err = NewLoop(Guarded(slow, g), LoopOptions{
		FastOptions: fastOptions, Guard: g, Loops: 1, MaxConcurrent: 100,
		Begin: func(_ int, c *Call) string {
			c.Response.Status = 200
			c.Finish()
			return ""
		},
	})
	if errors.Is(err, httploop.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, start(t, l)
}

// What real proxies and clients send is begun, with a traceparent and without.
func TestLoopBeginsRecordedHeaders(t *testing.T) {
	sets, err := headersets.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	l, address := begun(t)
	for _, set := range sets {
		for method, fields := range map[string]headersets.Fields{"GET": set.Get, "POST": set.Post} {
			if len(fields) == 0 {
				continue
			}
			body := ""
			if method == "POST" {
				body = "{}"
			}
			text := fields.Request(method, "/api/v1/order?uid=1", "127.0.0.1", "token", body)
			text += fields.With(headersets.Traceparent).Request(method, "/api/v1/order?uid=1", "127.0.0.1", "token", body)
			answers, _ := send(t, address, text, 2)
			for _, a := range answers {
				if a.StatusCode != 200 {
					t.Errorf("%s: %s: %d: %v", set.Name(), method, a.StatusCode, l.HandedOver())
				}
			}
		}
	}
	if got := l.HandedOver(); len(got) > 0 {
		t.Errorf("handed over: %v", got)
	}
}

// What a page may have sent, and what is not whole, has the chain, each by its reason.
func TestLoopReasons(t *testing.T) {
	l, address := begun(t)
	want := map[string]uint64{}
	for _, tt := range []struct {
		fields, reason string
		status         int
	}{
		{"", "", 200},
		{"Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n", "", 200},
		{"Cookie: a=b\r\nTE: trailers\r\nUpgrade: websocket\r\n", "", 200},
		{"Origin: http://evil.example\r\n", "Origin", 403},
		{"Origin: http://127.0.0.1\r\n", "Origin", 204},
		{"Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site", 403},
	} {
		answers, _ := send(t, address, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"+tt.fields+"\r\n", 1)
		if got := answers[0].StatusCode; got != tt.status {
			t.Errorf("%q: %d, want %d", tt.fields, got, tt.status)
		}
		if tt.reason != "" {
			want[tt.reason]++
		}
		if got := l.HandedOver(); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", tt.fields, got, want)
		}
	}
}
