package agones

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// Where the sidecar listens when its variable does not say.
const (
	Variable    = "AGONES_SDK_HTTP_PORT"
	DefaultPort = "9358"
)

// Bounds of a request.
const (
	timeout   = 2 * time.Second
	maxAnswer = 1 << 20 // bytes, also of a line of Watch
)

// SDK is the sidecar of this game server: the REST interface of Agones 1.40 and later.
type SDK struct {
	base   string
	client *http.Client
}

// New returns the sidecar at a URL. "": at localhost, at the port that Agones has set.
func New(base string) *SDK {
	if base == "" {
		base = "http://localhost:" + cmp.Or(os.Getenv(Variable), DefaultPort)
	}
	// The sidecar is in the same pod, so no proxy leads to it.
	return &SDK{base: base, client: &http.Client{Transport: &http.Transport{MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second}}}
}

// Ready says that players may come.
func (s *SDK) Ready(ctx context.Context) error { return s.post(ctx, "/ready", struct{}{}) }

// Allocate says that the server is in use and must not be ended.
func (s *SDK) Allocate(ctx context.Context) error { return s.post(ctx, "/allocate", struct{}{}) }

// Health says that the server works. Agones replaces one that has been silent for too long.
func (s *SDK) Health(ctx context.Context) error { return s.post(ctx, "/health", struct{}{}) }

// Shutdown asks for the end of the server's pod.
func (s *SDK) Shutdown(ctx context.Context) error { return s.post(ctx, "/shutdown", struct{}{}) }

// SetCounter sets a counter that the manifest declares.
func (s *SDK) SetCounter(ctx context.Context, name string, count, capacity int) error {
	// 64-bit numbers are strings in the JSON of Protobuf.
	return s.call(ctx, http.MethodPatch, "/v1beta1/counters/"+url.PathEscape(name), map[string]string{"count": strconv.Itoa(count), "capacity": strconv.Itoa(capacity)}, nil)
}

// GameServer is what Kubernetes knows of this server.
type GameServer struct {
	Meta struct {
		Name string `json:"name"`
	} `json:"object_meta"`
	Status struct {
		State   string `json:"state"`
		Address string `json:"address"`
		Ports   []struct {
			Name string `json:"name"`
			Port int    `json:"port"`
		} `json:"ports"`
	} `json:"status"`
}

// URL is where clients reach the server's first port.
func (g GameServer) URL() (string, error) {
	if g.Status.Address == "" || len(g.Status.Ports) == 0 {
		return "", fmt.Errorf("agones: game server %q has no address yet", g.Meta.Name)
	}
	return "http://" + net.JoinHostPort(g.Status.Address, strconv.Itoa(g.Status.Ports[0].Port)), nil
}

// GameServer asks for it.
func (s *SDK) GameServer(ctx context.Context) (g GameServer, err error) {
	return g, s.call(ctx, http.MethodGet, "/gameserver", nil, &g)
}

func (s *SDK) post(ctx context.Context, path string, body any) error {
	return s.call(ctx, http.MethodPost, path, body, nil)
}

// call sends a request and reads the answer into into, unless that is nil.
func (s *SDK) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := s.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		return fmt.Errorf("agones: the answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (s *SDK) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("agones: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // explains the status, which says enough without
		return nil, fmt.Errorf("agones: %s %s is answered %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}
