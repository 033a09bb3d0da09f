package headersets

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The programs that bench/tests/headers knows are there, each as net/http can read it, and no
// secret or address of the machine that they were recorded on.
func TestRecorded(t *testing.T) {
	sets, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, s := range sets {
		programs = append(programs, s.Program)
		if s.Version == "" || len(s.Get)+len(s.Post) == 0 {
			t.Errorf("%s: no version, or nothing was recorded", s.Name())
		}
		for method, fields := range map[string]Fields{"GET": s.Get, "POST": s.Post} {
			if len(fields) == 0 {
				continue
			}
			body := ""
			if method == "POST" {
				body = `{"some":"json"}`
			}
			text := fields.With(Traceparent).Request(method, "/a", "example:80", "secret", body)
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
			if err != nil {
				t.Errorf("%s: %v", s.Name(), err)
				continue
			}
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != body || r.Host != "example:80" || r.Header.Get("Traceparent") == "" {
				t.Errorf("%s: %q", s.Name(), text)
			}
			if key := r.Header.Get("Authorization"); key != "" && key != "Bearer secret" {
				t.Errorf("%s: %s", s.Name(), key)
			}
		}
	}
	for _, want := range []string{"curl", "Go net/http", "node fetch", "viem", "axios", "requests", "httpx", "aiohttp", "java.net.http", "OkHttp", ".NET HttpClient",
		"nginx", "haproxy", "Caddy", "Apache httpd", "Varnish"} {
		if !slices.Contains(programs, want) {
			t.Errorf("nothing of %s is recorded", want)
		}
	}
}

func TestFields(t *testing.T) {
	f := Fields{"host: HOST", "AUTHORIZATION: Bearer TOKEN", "transfer-encoding: chunked"}
	if got, want := f.Request("POST", "/", "x", "", "abc"), "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := (Fields{"A: b"}).Request("POST", "/", "x", "t", "abc"), "POST / HTTP/1.1\r\nA: b\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"; got != want {
		t.Errorf("%q", got)
	}
	if got := f.Without("Authorization"); len(got) != 2 || len(f) != 3 {
		t.Errorf("%q", got)
	}
}
