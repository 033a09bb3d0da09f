package push

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"dyno/parts/assembly"
)

// bench is a server of streams in a bubble, reached through pipes: a write blocks until it is read,
// so a reader that stops is immediately slow.
type bench struct {
	t       *testing.T
	log     *logged
	streams *Streams
	pipes   chan net.Conn
	client  *http.Client

	mu   sync.Mutex
	ends []context.CancelCauseFunc // of the requests so far
}

// authorised serves requests whose contexts the test may end for a cause.
func (b *bench) authorised(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, end := context.WithCancelCause(r.Context())
		defer end(nil)
		b.mu.Lock()
		b.ends = append(b.ends, end)
		b.mu.Unlock()
		next(w, r.WithContext(ctx))
	}
}

// options are the defaults, without a log.
func options() Options {
	o := assembly.Defaults[Options]()
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

// serve calls body with a server, and then ends everything.
func serve(t *testing.T, o Options, body func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, log: newLog(), pipes: make(chan net.Conn)}
		b.streams = New(b.log, o)
		b.client = &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return b.dial(), nil },
		}}
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/stream", b.authorised(b.streams.SSE))
		mux.HandleFunc("/v1/ws", b.authorised(b.streams.WebSocket))
		server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second}
		var running sync.WaitGroup
		running.Go(func() { server.Serve(pipeListener{b.pipes, make(chan struct{}), new(sync.Once)}) })
		defer running.Wait()
		defer func() {
			b.log.close()
			b.client.CloseIdleConnections()
			if err := errors.Join(server.Shutdown(t.Context()), b.streams.Wait(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		body(t, b)
	})
}

func (b *bench) dial() net.Conn {
	ours, theirs := net.Pipe()
	b.pipes <- theirs
	return ours
}

type pipeListener struct {
	pipes chan net.Conn
	done  chan struct{}
	once  *sync.Once
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.pipes:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// raw sends a request and leaves the rest to the test.
func (b *bench) raw(target string, headers ...string) net.Conn {
	conn := b.dial()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: notify.test\r\n%s\r\n", target, strings.Join(append(headers, ""), "\r\n"))
	return conn
}

// event is what a client gets: of an event stream or, but for id, as a message of a WebSocket.
type event struct{ name, id, data string }

// stream is an open event stream.
type stream struct {
	*parser
	answer *http.Response
	cut    context.CancelFunc
}

func (b *bench) get(target string, headers ...string) *http.Response {
	b.t.Helper()
	answer, _ := b.request(b.t.Context(), target, headers...)
	return answer
}

func (b *bench) request(ctx context.Context, target string, headers ...string) (*http.Response, error) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://notify.test"+target, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer, nil
}

func (b *bench) sse(target string, headers ...string) *stream {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	answer, _ := b.request(ctx, target, headers...)
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		b.t.Fatalf("%s: %s: %s", target, answer.Status, text)
	}
	return &stream{&parser{lines: bufio.NewReader(answer.Body)}, answer, cancel}
}

func (s *stream) close() {
	s.cut()
	s.answer.Body.Close()
}

func (b *bench) ws(target string) *websocket.Conn {
	b.t.Helper()
	conn, _, err := websocket.Dial(b.t.Context(), "ws://notify.test"+target, &websocket.DialOptions{HTTPClient: b.client})
	if err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// parser reads an event stream as WHATWG HTML, section 9.2.6 says.
type parser struct {
	lines    *bufio.Reader
	id       string // of the block that is being read
	lastID   string // of the last block that came whole
	comments []string
	skipLF   bool
}

// next returns the next event that a browser would dispatch.
func (p *parser) next() (event, error) {
	var name, data string
	for {
		line, err := p.line()
		if err != nil {
			return event{}, err
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if line == "" {
			p.lastID = p.id
		}
		switch {
		case line == "" && data == "":
			name = ""
		case line == "":
			return event{name, p.lastID, strings.TrimSuffix(data, "\n")}, nil
		case field == "":
			p.comments = append(p.comments, value)
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		case field == "id":
			p.id = value
		}
	}
}

// line reads until CR LF, LF or CR.
func (p *parser) line() (string, error) {
	var line []byte
	for {
		c, err := p.lines.ReadByte()
		switch {
		case err != nil:
			return "", err
		case c == '\n' && p.skipLF:
			p.skipLF = false
			continue
		case c == '\n' || c == '\r':
			p.skipLF = c == '\r'
			return string(line), nil
		}
		p.skipLF = false
		line = append(line, c)
	}
}
