package probe

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

// newClient returns a client without a proxy, because its targets are near, and without
// redirects, because its POST requests change a process.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: answerWithin}).DialContext,
			TLSHandshakeTimeout: answerWithin,
			MaxIdleConns:        4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// endpoint returns the URL of a path at the debug address, which may be written without its
// scheme.
func endpoint(debug, path string) (string, error) {
	if !strings.Contains(debug, "://") {
		debug = "http://" + debug
	}
	u, err := url.Parse(debug)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a debug address, as in http://127.0.0.1:6060", debug)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// newRequest makes a request to the debug address; the path may carry a query. The token is for
// guarded addresses; empty: none is sent.
func newRequest(ctx context.Context, method, debug, path, token string, body io.Reader) (*http.Request, error) {
	target, err := endpoint(debug, path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err == nil && token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, err
}

func get(ctx context.Context, c *http.Client, debug, path, token string) (*http.Response, error) {
	req, err := newRequest(ctx, http.MethodGet, debug, path, token, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// readInfo requests the agent's description of its process. The error is ErrNoAgent if the
// address answers without an agent.
func readInfo(ctx context.Context, c *http.Client, debug, token string) (*agent.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resp, err := get(ctx, c, debug, agent.PathInfo, token)
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
		return complaint(resp, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is not in the expected form: %w", err)
	}
	return nil
}

func complaint(resp *http.Response, body []byte) error {
	text := strings.ToValidUTF8(string(body[:min(len(body), maxComplaint)]), "")
	return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(text))
}

// Control changes settings of the target through its agent and returns the previous ones; passing
// those to Control restores them. An agent beyond loopback requires its token; empty: none is
// sent.
func Control(ctx context.Context, debugURL, token string, change agent.Control) (previous agent.Control, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	body, err := json.Marshal(change)
	if err != nil {
		return agent.Control{}, err
	}
	req, err := newRequest(ctx, http.MethodPost, debugURL, agent.PathControl, token, bytes.NewReader(body))
	if err != nil {
		return agent.Control{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	c := newClient()
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
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
