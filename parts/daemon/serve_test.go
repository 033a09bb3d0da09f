package daemon

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/agent"
	"dyno/parts/assembly"
	"dyno/parts/datadir"
)

// noEnv is an environment without variables.
func noEnv(string) (string, bool) { return "", false }

// run runs a service with this start in this process until ctx ends.
func run(ctx context.Context, start func(context.Context, *Env) (Running, error), args ...string) (code int, stdout, stderr string) {
	var out, logs bytes.Buffer
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--lame-duck=0s", "--log-level=error"}, args...)
	code = Run(ctx, Service{Name: "toyd", Start: start}, args, noEnv, &out, &logs)
	return code, out.String(), logs.String()
}

func TestExitCodesOfStart(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		name string
		err  error
		code int
		says string
	}{
		{"failure", errors.New("the log is corrupt at 17;\nrun toyd repair"), 1, "toyd: starting: the log is corrupt at 17;; run toyd repair\n"},
		{"usage", Usage(errors.New("a needs b")), 2, "toyd: starting: a needs b\n"},
		{"usage of something wrapped", fmt.Errorf("opening: %w", Usage(errors.New("a needs b"))), 2, "toyd: starting: opening: a needs b\n"},
		{"cancelled on its own", context.Canceled, 1, "toyd: starting: context canceled\n"},
	} {
		code, stdout, stderr := run(t.Context(), func(context.Context, *Env) (Running, error) { return Running{}, c.err })
		if code != c.code || stderr != c.says || stdout != "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", c.name, code, stdout, stderr)
		}
	}
}

func TestUsageOfNothingIsNothing(t *testing.T) {
	if err := Usage(nil); err != nil {
		t.Error("an error of nothing")
	}
}

func TestToldToStopWhileStarting(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, stdout, stderr := run(ctx, func(ctx context.Context, env *Env) (Running, error) {
		cancel()
		<-ctx.Done()
		return Running{}, fmt.Errorf("replaying the log: %w", ctx.Err())
	})
	if code != 0 || stdout != "" || stderr != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// A service that is still starting is alive, not ready, and can be looked into.
func TestDebugAddressWhileStarting(t *testing.T) {
	noLeaks(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	debug := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, _, stderr := run(ctx, func(context.Context, *Env) (Running, error) {
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/debug/pprof/": 200} {
			if status, _ := request(t, "GET", "http://"+debug+path); status != want {
				t.Errorf("%s: %d while starting, want %d", path, status, want)
			}
		}
		cancel()
		return Running{}, nil
	}, "--debug="+debug)
	if code != 0 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// A service may serve the public address itself; then ending that is Drain's part.
func TestServiceThatServesItself(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, stdout, stderr := run(ctx, func(_ context.Context, env *Env) (Running, error) {
		served := make(chan error, 1)
		go func() {
			conn, err := env.Listen.Accept()
			if err == nil {
				_, err = io.WriteString(conn, "hello")
				conn.Close()
			}
			served <- err
		}()
		go func() {
			defer cancel()
			conn, err := net.Dial("tcp", env.Listen.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if got, err := io.ReadAll(conn); string(got) != "hello" {
				t.Errorf("read %q, %v", got, err)
			}
		}()
		return Running{Drain: func(context.Context) error {
			select {
			case <-env.Draining:
			default:
				t.Error("Drain is called, but Draining is open")
			}
			return errors.Join(env.Listen.Close(), <-served)
		}}, nil
	})
	if code != 0 || !strings.Contains(stdout, `"ready":true`) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestDrainThatNeverReturnsIsLeftBehind(t *testing.T) {
	noLeaks(t)
	hang := make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := run(ctx, func(context.Context, *Env) (Running, error) {
		return Running{Drain: func(context.Context) error { <-hang; return nil }}, nil
	}, "--drain-timeout=10ms")
	if code != 1 || stderr != "toyd: the drain did not finish within --drain-timeout 10ms\n" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// A front that does not return is left behind.
func TestFrontThatNeverReturnsIsLeftBehind(t *testing.T) {
	noLeaks(t)
	hang := make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	drained := false
	code, _, stderr := run(ctx, func(context.Context, *Env) (Running, error) {
		return Running{Front: hangingFront(hang), Drain: func(context.Context) error { drained = true; return nil }}, nil
	}, "--drain-timeout=40ms")
	if code != 1 || stderr != "toyd: requests were still under way when three quarters of --drain-timeout 40ms were over\n" || !drained {
		t.Errorf("exit %d, stderr %q, drained: %v", code, stderr, drained)
	}
}

// The service has its quarter of the time, whatever its front does and however short the time is.
func TestServiceHasItsQuarter(t *testing.T) {
	for _, timeout := range []time.Duration{40 * time.Millisecond, time.Second, 2 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			defer close(hang)
			p := &process{options: options{drainTimeout: timeout}}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			err := p.drain(ctx, hangingFront(hang), Running{Drain: func(ctx context.Context) error {
				end, _ := ctx.Deadline()
				if left := time.Until(end); left != timeout/4 || ctx.Err() != nil {
					t.Errorf("of %v, the service has %v, %v", timeout, left, ctx.Err())
				}
				return nil
			}})
			if err == nil || !strings.Contains(err.Error(), "requests were still under way") {
				t.Errorf("%v: %v", timeout, err)
			}
		})
	}
}

// hangingFront is a front whose Drain waits for a channel.
type hangingFront chan struct{}

func (h hangingFront) LameDuck() {}

func (h hangingFront) Drain(context.Context) error { <-h; return nil }

func TestServiceAccountsForWhatItLeft(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := run(ctx, func(context.Context, *Env) (Running, error) {
		return Running{Drain: func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("3 notices are still in the log")
		}}, nil
	}, "--drain-timeout=10ms")
	if code != 1 || stderr != "toyd: 3 notices are still in the log\n" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestMistakesInTheServiceItself(t *testing.T) {
	start := func(context.Context, *Env) (Running, error) { return Running{}, nil }
	for says, s := range map[string]Service{
		"neither Start nor Jobs": {Name: "toyd"},
		"declares no Format":     {Name: "toyd", Start: start, Data: &datadir.Folder{}},
		"has no implementation": {Name: "toyd", Start: start,
			Assembly: assembly.Parts{Seams: []assembly.Seam{{Name: "queue"}}}},
	} {
		var stderr bytes.Buffer
		if code := Run(t.Context(), s, nil, noEnv, io.Discard, &stderr); code != 1 || !strings.Contains(stderr.String(), says) {
			t.Errorf("exit %d, stderr %q, want %q", code, &stderr, says)
		}
	}
}

func TestTLS(t *testing.T) {
	noLeaks(t)
	cert, key, roots := newFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, _, stderr := run(ctx, func(_ context.Context, env *Env) (Running, error) {
		go func() {
			defer cancel()
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
			defer transport.CloseIdleConnections()
			answer, err := (&http.Client{Transport: transport}).Get("https://" + env.Listen.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if answer.Proto != "HTTP/2.0" {
				t.Errorf("served over %s", answer.Proto)
			}
		}()
		return Running{Handler: http.NotFoundHandler()}, nil
	}, "--tls-cert="+cert, "--tls-key="+key)
	if code != 0 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// newFiles writes a certificate for 127.0.0.1 and returns the files and a pool that trusts it.
func newFiles(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := errors.Join(os.WriteFile(cert, certPEM, 0o600), os.WriteFile(key, keyPEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	return cert, key, roots
}

// From beyond loopback only health and metrics are open; the service's own pages are guarded too.
func TestDebugAddressBeyondLoopback(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /debug/toyd/release", func(http.ResponseWriter, *http.Request) {})
	var p phase
	p.Store(ready)
	h := debugHandler(mux, agent.New(agent.Config{Token: "s3cret"}), "s3cret", prometheus.NewRegistry(), &p)
	for _, c := range []struct {
		method, path string
		without      int // status without the token
		with         int
	}{
		{"GET", "/healthz", 200, 200},
		{"GET", "/readyz", 200, 200},
		{"GET", "/metrics", 200, 200},
		{"GET", "/debug/vars", 403, 200}, // its command line holds the token
		{"GET", "/debug/pprof/cmdline", 403, 200},
		{"GET", "/debug/dyno/info", 403, 200},
		{"POST", "/debug/dyno/control", 403, 400},
		{"POST", "/debug/toyd/release", 403, 200},
		{"GET", "/nothing", 403, 404},
	} {
		for token, want := range map[string]int{"": c.without, "s3cret": c.with} {
			r := httptest.NewRequest(c.method, c.path, nil)
			r.RemoteAddr = "192.0.2.1:40000"
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s %s with token %q: %d, want %d", c.method, c.path, token, w.Code, want)
			}
		}
	}
}

// A client that sends the headers and then lets the rest drip does not hold a handler for good.
func TestSlowBodyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{log: newLog(io.Discard, slog.LevelError), options: options{readTimeout: defaultRead}}
		ended := make(chan error, 1)
		server := p.http(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			ended <- err
		}), defaultRead)
		client, conn := net.Pipe()
		l := make(pipeListener, 1)
		l <- conn
		var running sync.WaitGroup
		running.Go(func() { server.Serve(l) })
		running.Go(func() { io.Copy(io.Discard, client) })
		running.Go(func() {
			io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
			for { // a byte a second
				if _, err := io.WriteString(client, "x"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		start := time.Now()
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) > defaultRead+time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		close(l)
		server.Close()
		client.Close()
		running.Wait()
	})
}

// pipeListener hands out the connections put into it.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
