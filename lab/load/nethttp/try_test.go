package nethttp

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/corpus"
)

func try(t *testing.T, ctx context.Context, c Config, method string) (int, error) {
	t.Helper()
	c.Corpus = &corpus.Corpus{Requests: []corpus.Request{{Method: method, Path: "/x"}}, Classes: make([]corpus.Class, 1)}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	status, _, err := d.Try(ctx)
	return status, err
}

// A reachable target returns its status; a request that may change something is not sent.
func TestTryAnswers(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			t.Error("a POST arrived")
		}
		http.NotFound(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for method, want := range map[string]int{http.MethodGet: 404, http.MethodHead: 404, http.MethodPost: 0} {
		got, err := try(t, t.Context(), Config{Target: s.URL, TLS: TLS{Insecure: true}}, method)
		if err != nil || got != want {
			t.Errorf("%s: status %d, %v; want %d", method, got, err, want)
		}
	}
}

// The error explains why no connection could be made, with the address.
func TestTryFails(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken, err := net.Dial("tcp", l.Addr().String()) // its local port is in use, and nothing listens there
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, c := range []struct {
		name, target, want string
		ctx                context.Context
	}{
		{"refused", "http://" + taken.LocalAddr().String(), "nothing listens at " + taken.LocalAddr().String(), t.Context()},
		{"no address", "http://absent.invalid:80", "absent.invalid:80: the name has no address", t.Context()},
		{"certificate", secure.URL, "certificate signed by unknown authority; -k", t.Context()},
		{"plain", strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS; write http://", t.Context()},
		{"late", plain.URL, "did not accept a connection in time", late},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := try(t, c.ctx, Config{Target: c.target}, http.MethodGet); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A server of another protocol may wait for the rest of what it takes for a request.
func TestTryIsNotAnswered(t *testing.T) {
	err := (&Driver{addr: "127.0.0.1:80"}).unreachable(&handshakeError{context.DeadlineExceeded})
	if want := "if it speaks plain HTTP, write http://"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// Try recognizes a TLS port that receives plain HTTP, whether the server answers in HTTP, as Go's
// and nginx do, or with a TLS alert.
func TestTryPlainAtTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "<center>The plain HTTP request was sent to HTTPS port</center>", http.StatusBadRequest)
	}))
	defer nginx.Close()
	ordinary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such order", http.StatusBadRequest)
	}))
	defer ordinary.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Read(make([]byte, 1<<10))
			c.Write([]byte{21, 3, 1, 0, 2, 2, 70}) // a fatal alert, protocol_version
			c.Close()
		}
	}()
	for url, want := range map[string]string{secure.URL: "says that it speaks HTTPS; write https://", nginx.URL: "says that it speaks HTTPS; write https://",
		"http://" + l.Addr().String(): "answers in TLS; write https://", ordinary.URL: ""} {
		url = strings.Replace(url, "https:", "http:", 1)
		_, err := try(t, t.Context(), Config{Target: url}, http.MethodGet)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != strings.TrimPrefix(url, "http://")+" "+want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
