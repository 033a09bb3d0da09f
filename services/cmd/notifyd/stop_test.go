package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
)

// Every notice that notifyd received before it ends is acknowledged.
func TestLosesNoRequest(t *testing.T) {
	data := t.TempDir()
	for range quicktest.Of(1, 4) {
		p := serve(t, data, "--lame-duck=1s")
		lameducktest.Run(t, lameducktest.Program{
			Dial: func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(p.api, "http://")) },
			Request: func(connection, n int) string {
				if n%4 == 0 {
					return "GET /v1/stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
				}
				notice := fmt.Sprintf(`{"type":"a.b","key":"k%d","payload":{"n":%d}}`, connection, n)
				return fmt.Sprintf("POST /v1/notices HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(notice), notice)
			},
			Good: func(r *http.Response) bool {
				return r.StatusCode == http.StatusOK || r.StatusCode == http.StatusAccepted
			},
			Ready:  lameducktest.Readyz(p.debug),
			Window: time.Second,
			Stop:   p.stop,
		})
	}
}

// A request that may end in two places is refused, whichever front reads it.
func TestRefusesTwoLengths(t *testing.T) {
	for _, ingest := range []string{"loop", "handler"} {
		t.Run(ingest, func(t *testing.T) {
			p := serve(t, t.TempDir(), "--lame-duck=0s", "--set", "ingest="+ingest)
			for _, path := range []string{"/v1/notices", "/"} {
				lameducktest.Framing(t, path, func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(p.api, "http://")) })
			}
			p.stop()
		})
	}
}
