package profiling

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"dyno/agent"
)

// ErrNoAgent is returned for a debug address that answers but does not serve the agent.
var ErrNoAgent = errors.New("the debug address has no agent")

var errNoPID = errors.New("the answer names no process")

const (
	answerWithin = 5 * time.Second // time limit for connecting, and for an answer that needs no work
	maxAnswer    = 1 << 20         // bytes of an answer that are read: an assembly has some kilobytes
	maxComplaint = 300             // bytes of an unexpected answer's text that are shown
)

// Client is a client of one debug address.
type Client struct {
	http http.Client
	at   Address
}

// New returns a client that uses no proxy, because its targets are near, and follows no redirects,
// because its POST requests change a process.
func New(at Address) *Client {
	return &Client{at: at, http: http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: answerWithin}).DialContext,
			TLSClientConfig:     at.TLS,
			TLSHandshakeTimeout: answerWithin,
			MaxIdleConns:        4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	target, err := c.at.endpoint(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if c.at.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.at.Token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unanswered(target, err)
	}
	return resp, nil
}

// Get requests a path, which may have a query.
func (c *Client) Get(ctx context.Context, path string) (*http.Response, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

// Info requests the agent's description of its process. The error wraps ErrNoAgent if the address
// answers, but without an agent.
func (c *Client) Info(ctx context.Context) (*agent.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resp, err := c.Get(ctx, agent.PathInfo)
	if err != nil {
		return nil, fmt.Errorf("the debug address does not answer: %w", err)
	}
	var info agent.Info
	if err := decode(resp, &info); err != nil || info.PID <= 0 {
		return nil, fmt.Errorf("%w: %w", ErrNoAgent, cmp.Or(err, errNoPID))
	}
	return &info, nil
}

// decode decodes a JSON answer and closes its body. A status other than 200 is an error.
func decode(resp *http.Response, into any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return Unexpected(resp, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is not in the expected form: %w", err)
	}
	return nil
}

// Control changes settings of the target through its agent and returns the previous ones; passing
// those to Control restores them. An agent that listens beyond loopback requires its token.
func Control(ctx context.Context, at Address, change agent.Control) (previous agent.Control, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	body, err := json.Marshal(change)
	if err != nil {
		return agent.Control{}, err
	}
	c := New(at)
	defer c.Close()
	resp, err := c.do(ctx, http.MethodPost, agent.PathControl, bytes.NewReader(body))
	if err != nil {
		return agent.Control{}, fmt.Errorf("changing the target's settings: %w", err)
	}
	if resp.StatusCode == http.StatusNotFound {
		resp.Body.Close()
		return agent.Control{}, ErrNoAgent
	}
	if err := decode(resp, &previous); err != nil {
		return agent.Control{}, fmt.Errorf("changing the target's settings: %w", err)
	}
	return previous, nil
}

// PathPprof is the path at which net/http/pprof serves its profiles.
const PathPprof = "/debug/pprof/"

// Pprof returns nil if net/http/pprof answers at the debug address, and otherwise an error that
// says what answered. It also accepts a program that serves single profiles without the index of
// them.
func Pprof(ctx context.Context, at Address) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c := New(at)
	defer c.Close()
	err := c.expect(ctx, PathPprof, "goroutine")
	if status := (*StatusError)(nil); errors.As(err, &status) && !Refused(err) && c.expect(ctx, PathPprof+"goroutine?debug=1", "goroutine profile:") == nil {
		return nil
	}
	return err
}

// expect requests a page, whose first megabyte must contain a text.
func (c *Client) expect(ctx context.Context, path, text string) error {
	resp, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(text)) {
		return Unexpected(resp, body)
	}
	return nil
}
