package scripted

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"dyno/lab/load/notes"
	"dyno/lab/load/request"
	"dyno/lab/load/sessions"
)

// posting bounds the requests beside all streams that are in flight concurrently, each with a
// connection of its own: as many again as streams fit the usual limit of open files.
const posting = 4096

var errPosting = fmt.Errorf("%d of them were in flight", posting)

// events opens streams of server-sent events.
type events struct {
	script Script
	failed notes.Notes
	offering
	streams *http.Client
	posts   *http.Client
	free    chan struct{} // holds a token for each request that may be in flight
}

func newEvents(s Script, host string) (*events, error) {
	transport := func() (*http.Transport, error) {
		t := &http.Transport{MaxIdleConnsPerHost: posting, DisableCompression: true}
		if s.TLS == nil {
			return t, nil
		}
		var err error
		t.TLSClientConfig, err = s.TLS(host)
		return t, err
	}
	streams, err := transport()
	if err != nil {
		return nil, err
	}
	posts, err := transport()
	if err != nil {
		return nil, err
	}
	streams.DisableKeepAlives = true // each stream is its connection's last
	return &events{script: s, streams: &http.Client{Transport: streams, CheckRedirect: stay},
		posts: &http.Client{Transport: posts, Timeout: postTimeout, CheckRedirect: stay}, free: make(chan struct{}, posting)}, nil
}

var _ notes.Noting = (*events)(nil)

// Notes returns why requests were not sent.
func (d *events) Notes() []string { return d.failed.Notes() }

// stay follows no redirect: it may lead to a login page, which is neither a stream nor a success.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (d *events) Open(ctx context.Context, i int) (sessions.Session, error) {
	s := &d.script
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end) // ctx bounds the opening, living the stream
	r, err := http.NewRequestWithContext(living, http.MethodGet, s.text(s.URL, i, 0), nil)
	if err != nil {
		end()
		return nil, err
	}
	r.Header = s.header(s.Header, i, 0)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := d.streams.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		answer.Body.Close()
		err = fmt.Errorf("%s answered %s: %s", r.URL.Host, answer.Status, strings.TrimSpace(string(text)))
	}
	if !stop() && err == nil {
		answer.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, done(ctx, err)
	}
	c := &stream{counter: counter{script: s}, driver: d, i: i, body: answer.Body, living: living, end: end}
	c.lines = newEventReader(answer.Body)
	return c, nil
}

// Close closes the connections of requests that wait for the next one.
func (d *events) Close() error {
	d.posts.CloseIdleConnections()
	return nil
}

// stream is a session over server-sent events, and requests beside it.
type stream struct {
	counter
	driver  *events
	i       int
	body    io.ReadCloser
	lines   *eventReader
	living  context.Context
	end     context.CancelFunc
	stop    func() bool
	posting sync.WaitGroup
}

// notSent is what happened to offers of which no event can come.
const notSent = "requests that failed, so that no event acknowledges them"

// Send begins the offer's request. An answer of the server says only that it took the request: an
// event acknowledges the offer.
func (c *stream) Send(_ context.Context, offer uint64) error {
	s := c.script
	if s.Send == nil {
		return nil
	}
	body, err := c.driver.body(nil, s, c.i, offer)
	if err != nil {
		return err
	}
	select {
	case c.driver.free <- struct{}{}:
	default: // to wait would delay the offers of other sessions
		c.driver.failed.Add(notSent, errPosting)
		return nil
	}
	r, err := http.NewRequestWithContext(c.living, s.Send.Method, s.text(s.Send.URL, c.i, offer), bytes.NewReader(body))
	if err != nil {
		<-c.driver.free
		return err
	}
	r.Header = s.header(s.Send.Header, c.i, offer)
	c.posting.Go(func() {
		defer func() { <-c.driver.free }()
		if err := c.driver.post(r); err != nil && c.living.Err() == nil {
			c.driver.failed.Add(notSent, err)
		}
	})
	return nil
}

func (d *events) post(r *http.Request) error {
	answer, err := d.posts.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	if answer.StatusCode >= http.StatusBadRequest || request.Redirects(answer.StatusCode) {
		return fmt.Errorf("%s answered %s: %.200s", r.URL.Host, answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

func (c *stream) Receive(ctx context.Context) (sessions.Received, error) {
	if c.stop == nil {
		c.stop = context.AfterFunc(ctx, c.end)
	}
	data, n, err := c.lines.next()
	if err != nil {
		return sessions.Received{Bytes: n}, done(ctx, err)
	}
	r := c.read(data)
	r.Bytes = n
	return r, nil
}

func (c *stream) Close() error {
	c.end()
	if c.stop != nil {
		c.stop()
	}
	c.posting.Wait()
	return c.body.Close()
}

// eventReader reads server-sent events (HTML, section 9.2).
type eventReader struct {
	lines *bufio.Scanner
	data  []byte // reused
}

func newEventReader(r io.Reader) *eventReader {
	e := &eventReader{lines: bufio.NewScanner(r)}
	e.lines.Buffer(nil, maxMessage)
	return e
}

// next returns the data of the next event, whose lines are joined by newlines, and the number of
// bytes that were read. Comments, and events without data, are skipped. The data is valid until the
// next call.
func (e *eventReader) next() (data []byte, n int, err error) {
	e.data = e.data[:0]
	for e.lines.Scan() {
		line := e.lines.Bytes()
		n += len(line) + 1
		if len(line) == 0 && len(e.data) > 0 {
			return e.data[:len(e.data)-1], n, nil
		}
		if value, ok := dataOf(line); ok {
			e.data = append(append(e.data, value...), '\n')
		}
		if len(e.data) > maxMessage {
			return nil, n, fmt.Errorf("an event is longer than %d MiB", maxMessage>>20)
		}
	}
	return nil, n, cmp.Or(e.lines.Err(), io.EOF)
}

// dataOf returns the value of a line of the field data.
func dataOf(line []byte) (value []byte, ok bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" ")), string(name) == "data"
}
