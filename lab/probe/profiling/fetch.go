package profiling

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"dyno/lab/probe/debughttp"
)

// Paths of net/http/pprof.
const (
	pathHeap      = debughttp.PathPprof + "heap?gc=1"
	pathGoroutine = debughttp.PathPprof + "goroutine"
	pathCPU       = debughttp.PathPprof + "profile"
	pathTrace     = debughttp.PathPprof + "trace"
)

const (
	maxProfile = 64 << 20 // bytes of a profile: that of a large program is about 1 MB
	// profileWithin bounds the time of a profile beyond the time that it covers: a GC cycle of a
	// heap of some GB precedes a heap profile.
	profileWithin = 30 * time.Second
)

// fetch reads a profile in pprof's encoding (gzip).
func (i *inspector) fetch(ctx context.Context, path string, within time.Duration) ([]byte, error) {
	body, err := i.read(ctx, path, within, maxProfile)
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxProfile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxProfile)
	case !bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		return nil, fmt.Errorf("%s gave no profile; %s", path, serveIt)
	}
	return body, nil
}

const serveIt = "does net/http/pprof serve /debug/pprof/ on the debug address?"

// read reads an answer of at most limit bytes, plus one byte that shows a longer answer.
func (i *inspector) read(ctx context.Context, path string, within time.Duration, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	resp, err := i.client.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("there is no %s (404); %s", path, serveIt)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %w", path, debughttp.StatusError(resp, body))
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return body, nil
}
