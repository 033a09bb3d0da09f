package script

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/sessions"
)

// posting bounds the requests in flight while streams are open. Each has a connection of its own;
// together with as many connections for streams they stay within the usual limit of open files.
const posting = 4096

var errPosting = fmt.Errorf("%d of them were in flight", posting)

// events is a driver whose sessions are streams of server-sent events.
type events struct {
	script script
	failed load.Notes
	rowCounter
	streams *http.Client
	posts   *http.Client
	free    chan struct{} // holds a token for each request that may be in flight
}

func newEvents(s script, host string) (*events, error) {
	transport := func() (*http.Transport, error) {
		t := &http.Transport{MaxIdleConnsPerHost: posting, DisableCompression: true}
		if s.tls == nil {
			return t, nil
		}
		var err error
		t.TLSClientConfig, err = s.tls(host)
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
	streams.DisableKeepAlives = true // a stream's connection is not used again
	return &events{script: s, streams: &http.Client{Transport: streams, CheckRedirect: stayWithHost},
		posts: &http.Client{Transport: posts, Timeout: postTimeout, CheckRedirect: stay}, free: make(chan struct{}, posting)}, nil
}

var _ load.Noting = (*events)(nil)

// Notes returns why requests were not sent.
func (d *events) Notes() []string { return d.failed.Notes() }

// stay follows no redirect: one may lead to a login page, whose status would count as success.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirects bounds the redirects to a stream.
const redirects = 10

// stayWithHost follows redirects of a stream, as clients of server-sent events do, but not to
// another host, for which there is no consent.
func stayWithHost(next *http.Request, before []*http.Request) error {
	if len(before) > redirects || next.URL.Hostname() != before[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	return nil
}

// isStream returns nil if an answer is a stream of events (HTML, section 9.2.3), and otherwise
// why it is not.
func isStream(answer *http.Response) error {
	host := answer.Request.URL.Host
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	switch media = strings.TrimSpace(media); {
	case answer.StatusCode == http.StatusNoContent:
		return fmt.Errorf("%s answered %s, which asks clients of events to stay away", host, answer.Status)
	case corpus.Redirects(answer.StatusCode):
		to, err := answer.Location()
		if err != nil {
			return fmt.Errorf("%s answered %s without a Location", host, answer.Status)
		}
		return fmt.Errorf("%s answered %s to %s: name that in load.url", host, answer.Status, to.Host)
	case answer.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("%s answered %s: %s", host, answer.Status, strings.TrimSpace(string(text)))
	case !strings.EqualFold(media, "text/event-stream"):
		return fmt.Errorf("%s answered with Content-Type %q, and a stream of events has text/event-stream", host, media)
	}
	return nil
}

func (d *events) Open(ctx context.Context, i int) (sessions.Session, error) {
	s := &d.script
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end) // ctx bounds the opening only; living bounds the stream
	r, err := http.NewRequestWithContext(living, http.MethodGet, s.url(s.Load.URL, i, 0), nil)
	if err != nil {
		end()
		return nil, err
	}
	r.Header = s.header(s.Load.Headers, i, 0)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := d.streams.Do(r)
	if err == nil {
		if err = isStream(answer); err != nil {
			answer.Body.Close()
		}
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

// Close closes the idle connections of the requests that sent messages.
func (d *events) Close() error {
	d.posts.CloseIdleConnections()
	return nil
}

// stream is a session that receives server-sent events and sends each message in an HTTP request.
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

// notSent is the kind of failure of messages that no event can acknowledge.
const notSent = "requests that failed, so that no event acknowledges them"

// Send begins the message's request. The server's answer shows only that it took the request; an
// event acknowledges the message.
func (c *stream) Send(_ context.Context, number uint64) error {
	s := c.script
	if s.Send == nil {
		return nil
	}
	body, err := c.driver.body(nil, s, c.i, number)
	if err != nil {
		return err
	}
	select {
	case c.driver.free <- struct{}{}:
	default: // waiting would delay the messages of other sessions
		c.driver.failed.Add(notSent, errPosting)
		return nil
	}
	r, err := http.NewRequestWithContext(c.living, cmp.Or(s.Send.Method, http.MethodPost), s.url(s.Send.URL, c.i, number), bytes.NewReader(body))
	if err != nil {
		<-c.driver.free
		return err
	}
	r.Header = s.header(s.Send.Headers, c.i, number)
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
	if answer.StatusCode >= http.StatusBadRequest || corpus.Redirects(answer.StatusCode) {
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
