package httploop

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/httploop/wire"
)

// What changes an answer is denied, and everything else passes, in any case of letters.
func TestScreen(t *testing.T) {
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fields := func(lines ...string) (out []wire.Field) {
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			out = append(out, wire.Field{Name: name, Value: value})
		}
		return out
	}
	for _, tt := range []struct {
		lines   []string
		all     string
		sockets string // reason where there are WebSockets
	}{
		{nil, "", ""},
		{[]string{"X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https", "X-Real-IP: 10.0.0.1", "Forwarded: for=10.0.0.1", "Via: 1.1 a"}, "", ""},
		{[]string{"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id: 7", "DNT: 1", "Priority: u=4", "Pragma: no-cache"}, "", ""},
		{[]string{"sec-fetch-mode: cors"}, "", ""},
		{[]string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, "", ""},
		{[]string{"Sec-Fetch-Site: same-origin"}, "", ""},
		{[]string{"sec-fetch-site: cross-site"}, "Sec-Fetch-Site", "Sec-Fetch-Site"},
		{[]string{"Sec-Fetch-Site: same-site"}, "Sec-Fetch-Site", "Sec-Fetch-Site"},
		{[]string{"Sec-Fetch-Site: "}, "Sec-Fetch-Site", "Sec-Fetch-Site"},
		{[]string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: none"}, "Sec-Fetch-Site", "Sec-Fetch-Site"},
		{[]string{"ORIGIN: http://localhost"}, "Origin", "Origin"},
		{[]string{"Origin: "}, "Origin", "Origin"},
		{[]string{"Cookie: a=b"}, "", ""},
		{[]string{"Connection: TE", "te: trailers"}, "", ""}, // for answers with trailers, of which there are none
		{[]string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA"}, "", ""},
		{[]string{"Upgrade: WebSocket"}, "", "Upgrade"},
	} {
		r := &Request{Head: wire.Head{Method: "POST", Host: "127.0.0.1", Fields: fields(tt.lines...)}}
		for reason, screen := range map[*string]Screen{&tt.all: {Guard: g}, &tt.sockets: {WebSockets: true}} {
			if got := screen.Denies(r); got != *reason {
				t.Errorf("%q, %+v: %q, want %q", tt.lines, screen, got, *reason)
			}
			if n := testing.AllocsPerRun(10, func() { screen.Denies(r) }); n != 0 {
				t.Errorf("%q: %g allocations", tt.lines, n)
			}
		}
	}
	known := Screen{Guard: g}
	if got := known.Denies(&Request{Head: wire.Head{Method: "POST", Host: "rebound.example"}}); got != ReasonHost {
		t.Errorf("a host that is not known: %q", got)
	}
}

// A screen passes nothing that the guard would refuse.
func FuzzScreen(f *testing.F) {
	g, err := guard.New(guard.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("POST", "localhost", "Sec-Fetch-Site", "none", "Sec-Fetch-Dest", "document")
	f.Add("GET", "a.b", "Origin", "null", "sec-fetch-site", "same-origin")
	f.Fuzz(func(t *testing.T, method, host, name1, value1, name2, value2 string) {
		s := Screen{Guard: g}
		r := &Request{Head: wire.Head{Method: method, Host: host, Fields: []wire.Field{{Name: name1, Value: value1}, {Name: name2, Value: value2}}}}
		if s.Denies(r) != "" {
			return
		}
		all := func(name string) string {
			var values []string
			for _, field := range r.Fields {
				if field.Is(name) {
					values = append(values, field.Value)
				}
			}
			return strings.Join(values, ", ")
		}
		if no := g.Check(guard.Request{Method: method, Host: host, Origin: all("Origin"), Site: all("Sec-Fetch-Site"), Dest: all("Sec-Fetch-Dest")}); no != nil {
			t.Errorf("%+v passes, and the guard says %s", r.Fields, no.Text)
		}
	})
}

// Each reason is logged once, and no client makes their number grow.
func TestReasons(t *testing.T) {
	var log bytes.Buffer
	r := Reasons{Log: slog.New(slog.NewTextHandler(&log, nil)), Event: "left"}
	for range 3 {
		r.Add("Origin")
		r.Add(ReasonPath)
	}
	if got := r.Counts(); got["Origin"] != 3 || got[ReasonPath] != 3 || len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := strings.Count(log.String(), "\n"); got != 2 || strings.Count(log.String(), "level=INFO msg=left reason=Origin\n") != 1 {
		t.Errorf("%d lines: %s", got, log.String())
	}
	for i := range 10 * maxReasons {
		r.Add(strconv.Itoa(i))
	}
	if got := r.Counts(); len(got) != maxReasons+1 || got[reasonOther] != 10*maxReasons-maxReasons+2 {
		t.Errorf("%d reasons, %d others", len(got), got[reasonOther])
	}
}
