// Package debughttp is a client of a target's debug address, which serves the agent, net/http/pprof
// or both.
//
// It is not for what the answers mean (probe, profiling). It starts no goroutines of its own; the
// connections of a Client end with Close.
package debughttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dyno/agent"
)

// ErrNoAgent is returned for a debug address that answers but does not serve the agent.
var ErrNoAgent = errors.New("the debug address has no agent")

const (
	answerWithin = 5 * time.Second // time limit for the headers of an answer that needs no work
	maxAnswer    = 1 << 20         // bytes of an answer in JSON: an assembly is some kilobytes
	maxComplaint = 300             // bytes of an error's text that are shown
)

// Client is a client of one debug address.
type Client struct {
	http         http.Client
	debug, token string
}

// New returns a client without a proxy, because its targets are near, and without redirects,
// because its POST requests change a process. The address may be written without its scheme. The
// token is for guarded addresses; empty: none is sent.
func New(debug, token string) *Client {
	return &Client{debug: debug, token: token, http: http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: answerWithin}).DialContext,
			TLSHandshakeTimeout: answerWithin,
			MaxIdleConns:        4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// endpoint returns the URL of a path at the debug address.
func (c *Client) endpoint(path string) (string, error) {
	debug := c.debug
	if !strings.Contains(debug, "://") {
		debug = "http://" + debug
	}
	u, err := url.Parse(debug)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a debug address, as in http://127.0.0.1:6060", debug)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	target, err := c.endpoint(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(req)
}

// Get requests a path, which may carry a query.
func (c *Client) Get(ctx context.Context, path string) (*http.Response, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

// Info requests the agent's description of its process. The error is ErrNoAgent if the address
// answers without an agent.
func (c *Client) Info(ctx context.Context) (*agent.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resp, err := c.Get(ctx, agent.PathInfo)
	if err != nil {
		return nil, fmt.Errorf("the debug address does not answer: %w", err)
	}
	var info agent.Info
	if err := decode(resp, &info); err != nil || info.PID <= 0 {
		return nil, errors.Join(ErrNoAgent, err)
	}
	return &info, nil
}

// decode decodes a JSON answer and closes it; a status other than 200 is an error.
func decode(resp *http.Response, into any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return StatusError(resp, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is not in the expected form: %w", err)
	}
	return nil
}

// StatusError describes an answer by its status and the beginning of its text.
func StatusError(resp *http.Response, body []byte) error {
	text := strings.ToValidUTF8(string(body[:min(len(body), maxComplaint)]), "")
	return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(text))
}

// Control changes settings of the target through its agent and returns the previous ones; passing
// those to Control restores them. An agent beyond loopback requires its token; empty: none is
// sent.
func Control(ctx context.Context, debug, token string, change agent.Control) (previous agent.Control, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	body, err := json.Marshal(change)
	if err != nil {
		return agent.Control{}, err
	}
	c := New(debug, token)
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

// PathPprof is where net/http/pprof serves its profiles.
const PathPprof = "/debug/pprof/"

// HasPprof reports whether net/http/pprof answers at the debug address. The token is for a
// guarded address; empty: none is sent.
func HasPprof(ctx context.Context, debug, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c := New(debug, token)
	defer c.Close()
	resp, err := c.Get(ctx, PathPprof)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && lists(resp.Body, "goroutine")
}

// lists reports whether a page contains a name in its first megabyte.
func lists(page io.Reader, name string) bool {
	body, err := io.ReadAll(io.LimitReader(page, maxAnswer))
	return err == nil && bytes.Contains(body, []byte(name))
}
