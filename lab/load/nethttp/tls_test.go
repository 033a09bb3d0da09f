package nethttp

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type discard struct{}

func (discard) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// target is a server that counts its connections and the protocols that clients use.
type target struct {
	*httptest.Server
	accepted atomic.Int64
	proto    atomic.Value // string
	tls      atomic.Int64 // version
	bodies   atomic.Int64 // bytes
}

func serve(t *testing.T, secure, http2 bool) *target {
	s := &target{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.proto.Store(r.Proto)
		if r.TLS != nil {
			s.tls.Store(int64(r.TLS.Version))
		}
		n, _ := io.Copy(io.Discard, r.Body)
		s.bodies.Add(n)
		io.WriteString(w, `{"ok":true}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(http2)
	s.EnableHTTP2 = http2
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// certificate is the server's own certificate in PEM form.
func (s *target) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func send(t *testing.T, c Config) record.Totals {
	t.Helper()
	totals, _ := drive(t, c)
	return totals
}

// drive runs a plan and also returns the driver's notes.
func drive(t *testing.T, c Config) (record.Totals, []string) {
	t.Helper()
	const requests, connections = 60, 3
	if c.Corpus == nil {
		c.Corpus = &corpus.Corpus{
			Requests: []corpus.Request{{Method: http.MethodPost, Path: "/x", Body: []byte("0000000000000000"), IDs: []int{0}}},
			Classes:  []corpus.Class{{Check: corpus.Check{Check: workload.Check{JSON: []workload.JSONTest{{Path: "ok", Equals: true}}}}}},
		}
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	totals, _, err := load.Run(t.Context(), load.Plan{
		Schedule:    func() load.Schedule { return load.Times(make([]int64, requests)) },
		Connections: connections, Length: record.WindowLength, Drain: time.Minute, Timeout: time.Minute,
	}, d, discard{})
	if err != nil || totals.Ended != requests {
		t.Fatalf("%v: %+v", err, totals)
	}
	return totals, d.Notes()
}

func TestProtocols(t *testing.T) {
	for _, c := range []struct {
		name          string
		secure, http2 bool
		version       string
		proto         string
		tls           int64
	}{
		{"http1", false, false, "", "HTTP/1.1", 0},
		{"h2c", false, true, "", "HTTP/2.0", 0},
		{"tls", true, false, "", "HTTP/1.1", 0x0304},
		{"tls12", true, false, "1.2", "HTTP/1.1", 0x0303},
		{"tls13", true, false, "1.3", "HTTP/1.1", 0x0304},
		{"h2", true, true, "", "HTTP/2.0", 0x0304},
		{"h2-tls12", true, true, "1.2", "HTTP/2.0", 0x0303},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.secure, c.http2)
			config := Config{Target: s.URL, HTTP2: c.http2, TLS: TLS{Version: c.version}}
			if c.secure {
				config.TLS.CA = s.certificate()
			}
			totals := send(t, config)
			if totals.Failed != 0 || totals.Status["200"] != 60 {
				t.Errorf("%+v", totals)
			}
			if s.proto.Load() != c.proto || s.tls.Load() != c.tls {
				t.Errorf("spoke %v over TLS %x, want %s over %x", s.proto.Load(), s.tls.Load(), c.proto, c.tls)
			}
			if n := s.accepted.Load(); n != 3 {
				t.Errorf("%d connections, want 3", n)
			}
			if n := s.bodies.Load(); n != 60*16 {
				t.Errorf("%d bytes of bodies arrived", n)
			}
		})
	}
}

// Every request fails to connect if the plan requires HTTP/2 over TLS and the target lacks it, or
// if the target's certificate is not trusted. The drive itself does not fail.
func TestNoConnection(t *testing.T) {
	s := serve(t, true, false)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the server would log each failed handshake
	for name, tt := range map[string]struct {
		Config
		note string
	}{
		"unknown authority": {Config{Target: s.URL}, "load.tls.ca names an authority"},
		"no HTTP/2":         {Config{Target: s.URL, HTTP2: true, TLS: TLS{Insecure: true}}, "no application protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			totals, notes := drive(t, tt.Config)
			if note := strings.Join(notes, "; "); totals.Errors["connect"] != 60 || !strings.Contains(note, "connections that could not be made: 60, the first: ") || !strings.Contains(note, tt.note) {
				t.Errorf("%+v, notes %q", totals.Errors, note)
			}
		})
	}
	t.Run("insecure", func(t *testing.T) {
		if totals := send(t, Config{Target: s.URL, TLS: TLS{Insecure: true}}); totals.Failed != 0 {
			t.Errorf("%+v", totals.Errors)
		}
	})
}

func TestConfigErrors(t *testing.T) {
	of := func(r corpus.Request) *corpus.Corpus {
		return &corpus.Corpus{Requests: []corpus.Request{r}, Classes: make([]corpus.Class, 1)}
	}
	get := of(corpus.Request{Method: "GET", Path: "/"})
	for want, c := range map[string]Config{
		"write http://HOST:PORT":  {Target: "ftp://x", Corpus: get},
		"target":                  {Target: "http://[", Corpus: get},
		"the corpus is empty":     {Target: "http://x"},
		"write 1.2 or 1.3":        {Target: "https://x", Corpus: get, TLS: TLS{Version: "1.1"}},
		"holds no certificate":    {Target: "https://x", Corpus: get, TLS: TLS{CA: []byte{}}},
		"class 3 of 1":            {Target: "http://x", Corpus: of(corpus.Request{Method: "GET", Path: "/", Class: 3})},
		"does not fit":            {Target: "http://x", Corpus: of(corpus.Request{Method: "GET", Path: "/", IDs: []int{0}})},
		"request 1 of the corpus": {Target: "http://x", Corpus: of(corpus.Request{Method: "GE T", Path: "/"})},
		"cannot be sent":          {Target: "http://x", Corpus: of(corpus.Request{Method: "GET", Path: "/", Header: http.Header{"X": {"a\nb"}}})},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// An answer longer than the part kept for checks fails them.
func TestLongAnswerFailsItsCheck(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"ok":true,"x":"`+strings.Repeat("x", maxBody)+`"}`)
	}))
	defer s.Close()
	if totals := send(t, Config{Target: s.URL}); totals.Errors["check"] != 60 {
		t.Errorf("%+v", totals.Errors)
	}
}
