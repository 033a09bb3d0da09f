package servers

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"

	"dyno/parts/seconds"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
)

type request struct {
	method       string
	index        uint32    // of a ledger; 0: none
	hash         xrpl.Hash // of a ledger, instead of its index; zero: none
	transactions bool
	streams      []string // of a subscription
}

// append writes the fields of a request, without the braces.
func (r request) append(b []byte) []byte {
	switch {
	case !r.hash.IsZero():
		b = xrpl.AppendHex(append(b, `"ledger_hash":"`...), r.hash[:])
		b = append(b, `","binary":true`...)
	case r.index > 0:
		b = append(b, `"ledger_index":`...)
		b = strconv.AppendUint(b, uint64(r.index), 10)
		b = append(b, `,"binary":true`...)
	}
	if r.transactions {
		b = append(b, `,"transactions":true,"expand":true`...)
	}
	if len(r.streams) > 0 {
		names, _ := json.Marshal(r.streams) // strings never fail
		b = append(append(b, `"streams":`...), names...)
	}
	return b
}

// body is the bytes of an answer, from a pool. It must be released once.
type body struct {
	bytes  []byte
	status int           // of HTTP; 0 over WebSocket
	after  time.Duration // Retry-After
}

// maxKept is the largest buffer that is reused: twice a large ledger.
const maxKept = 2 << 20 // bytes

var bodies = sync.Pool{New: func() any { return new(body) }}

func (b *body) release() {
	if cap(b.bytes) <= maxKept {
		*b = body{bytes: b.bytes[:0]}
		bodies.Put(b)
	}
}

// read fills a body with at most limit bytes. size is the announced length (-1: unknown).
func (b *body) read(from io.Reader, size, limit int64) error {
	if size > limit {
		return tooLarge(limit)
	}
	if n := size + 1; int64(cap(b.bytes)) < n { // room to see the end without growing
		b.bytes = make([]byte, 0, n)
	}
	b.bytes = b.bytes[:0]
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		n, err := from.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case int64(len(b.bytes)) > limit:
			return tooLarge(limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func tooLarge(limit int64) error {
	return response.Errorf(response.Malformed, "the answer is larger than %d bytes, more than any ledger; is that a server of the XRP Ledger?", limit)
}

// shownBody bounds what an error shows of a body.
const shownBody = 200 // bytes

// judge derives the Code from the HTTP status where the bytes of the answer do not give one.
func (b *body) judge(t *response.Error) {
	if b.after > 0 && t.RetryAfter == 0 {
		t.RetryAfter = b.after
	}
	if b.status < 300 || t.Code != response.Malformed && t.Code != response.Empty && t.Code != response.Refused {
		return
	}
	text := bytes.TrimSpace(b.bytes)
	if t.Code == response.Malformed {
		t.Err = fmt.Errorf("HTTP %d: %.*q", b.status, shownBody, text)
	}
	switch {
	case b.status == http.StatusTooManyRequests,
		b.status == http.StatusServiceUnavailable && bytes.Contains(bytes.ToLower(text), []byte("overload")):
		t.Code = response.SlowDown
	case b.status >= 500:
		t.Code = response.Busy
	default:
		t.Code = response.Refused
	}
}

// web sends requests as JSON-RPC over HTTP/1.1 or HTTP/2.
type web struct {
	server *Server
	url    string
	client *http.Client
	owned  bool
	trace  *httptrace.ClientTrace
}

func newHTTP(s *Server, url string) *web {
	w := &web{server: s, url: url, client: s.config.Client, owned: s.config.Client == nil, trace: s.counts.trace()}
	if w.owned {
		w.client = newClient(s.config)
	}
	return w
}

func newClient(c Config) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = c.TLS.Clone()
	// With a caller's tls.Config, net/http offers HTTP/2 only if this is set.
	t.ForceAttemptHTTP2 = c.TLS == nil || len(c.TLS.NextProtos) == 0 || offersHTTP2(c.TLS)
	// An answer is mostly incompressible hex, and servers limit bytes before compression.
	t.DisableCompression = true
	// A connection made too late for its request serves the next: net/http dials until this limit.
	dial := max(c.Timeout, DefaultTimeout)
	t.DialContext, t.TLSHandshakeTimeout = (&net.Dialer{Timeout: dial}).DialContext, dial
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost = c.InFlight, c.InFlight, c.InFlight
	return &http.Client{
		Transport: t,
		// A redirect would turn the POST into a GET, and may send its secrets to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func offersHTTP2(c *tls.Config) bool {
	for _, p := range c.NextProtos {
		if p == "h2" {
			return true
		}
	}
	return false
}

func (w *web) call(ctx context.Context, r request) (*body, error) {
	question := append([]byte(`{"method":"`+r.method+`","params":[{`), r.append(nil)...)
	question = append(question, `}]}`...)
	q, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, w.trace), http.MethodPost, w.url, bytes.NewReader(question))
	if err != nil {
		return nil, response.Errorf(response.Refused, "asking: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept-Encoding", "identity")
	a, err := w.client.Do(q)
	if err != nil {
		return nil, goneError(err)
	}
	defer a.Body.Close()
	if e := a.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, response.Errorf(response.Malformed, "the answer is compressed (%.20q), which was not asked for", e)
	}
	b := bodies.Get().(*body)
	if err := b.read(a.Body, a.ContentLength, w.server.config.MaxBody); err != nil {
		b.release()
		return nil, cut(err)
	}
	b.status, b.after = a.StatusCode, retryAfter(a.Header.Get("Retry-After"))
	if b.status >= 300 && b.status < 400 {
		b.release()
		return nil, response.Errorf(response.Refused, "HTTP %d is a redirect; configure the URL that it leads to", a.StatusCode)
	}
	return b, nil
}

func goneError(err error) error { return &response.Error{Code: response.Gone, Err: err} }

// cut returns an error that says that the connection broke within an answer.
func cut(err error) error {
	var t *response.Error
	if errors.As(err, &t) {
		return err
	}
	return &response.Error{Code: response.Cut, Err: fmt.Errorf("the answer ended early: %w", err)}
}

// maxRetryAfter bounds the wait that a server may ask for.
const maxRetryAfter = 5 * time.Minute

func retryAfter(text string) time.Duration {
	return min(seconds.RetryAfter(text, time.Now()), maxRetryAfter)
}

func (w *web) close() error {
	if w.owned {
		w.client.CloseIdleConnections()
	}
	return nil
}
