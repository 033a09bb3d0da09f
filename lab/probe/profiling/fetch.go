package profiling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Paths of net/http/pprof.
const (
	pathHeap      = PathPprof + "heap?gc=1"
	pathGoroutine = PathPprof + "goroutine"
	pathCPU       = PathPprof + "profile"
	pathTrace     = PathPprof + "trace"
)

const (
	maxProfile = 64 << 20 // bytes of a profile: that of a large program is about 1 MB
	// profileWithin bounds the time of a profile beyond the time that it covers: a GC cycle of a
	// heap of some GB precedes a heap profile.
	profileWithin = 30 * time.Second
)

// fetch reads a profile in pprof's encoding (gzip).
func (i *inspector) fetch(ctx context.Context, path string, within time.Duration) ([]byte, error) {
	body, err := i.read(ctx, path, within, maxProfile, "\x1f\x8b")
	if err == nil && len(body) > maxProfile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxProfile)
	}
	return body, err
}

const leastLength = 20 * time.Millisecond // of a trace that shows anything

// shorter reads what the target records for some seconds; step is the unit of its length. Where a
// server's or a proxy's time limit refuses the length or cuts the answer off, it tries half of it.
// It returns the length of what it read.
func shorter(length, step time.Duration, read func(seconds string, length time.Duration) ([]byte, error)) ([]byte, time.Duration, error) {
	for {
		got, err := read(strconv.FormatFloat(length.Seconds(), 'f', -1, 64), length)
		half := (length / 2).Truncate(step)
		if half < leastLength || !tooLong(err) {
			return got, length, err
		}
		length = half
	}
}

// tooLong reports whether an error may come from a limit on the time of an answer: net/http/pprof
// refuses what exceeds its server's WriteTimeout, http.TimeoutHandler and proxies answer in its
// place, and others close the connection.
func tooLong(err error) bool {
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return status.Code == http.StatusBadRequest && strings.Contains(status.Error(), "WriteTimeout") ||
			status.Code == http.StatusServiceUnavailable || status.Code == http.StatusGatewayTimeout
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

const serveIt = "does net/http/pprof serve /debug/pprof/ on the debug address?"

// read reads an answer of at most limit bytes, plus one byte that shows a longer answer. It must
// begin with magic.
func (i *inspector) read(ctx context.Context, path string, within time.Duration, limit int64, magic string) ([]byte, error) {
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
		return nil, fmt.Errorf("%w; %s", Unexpected(resp, body), serveIt)
	case resp.StatusCode != http.StatusOK:
		return nil, Unexpected(resp, body)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	case !bytes.HasPrefix(body, []byte(magic)):
		return nil, fmt.Errorf("%w, which is no profile; %s", Unexpected(resp, body), serveIt)
	}
	return body, nil
}
