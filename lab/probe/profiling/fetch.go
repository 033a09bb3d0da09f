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
	maxProfile = 64 << 20 // bytes of a profile; that of a large program has about 1 MB
	// pageWithin is the time limit for an answer, in addition to the time that the profile covers.
	// heapWithin is longer: before a heap profile, the target runs a GC cycle, which takes seconds
	// on a heap of some GB.
	pageWithin = 5 * time.Second
	heapWithin = 10 * time.Second
)

// fetch reads a profile in pprof's encoding (gzip).
func (i *inspector) fetch(ctx context.Context, path string, within time.Duration) ([]byte, error) {
	body, err := i.read(ctx, path, within, maxProfile, "\x1f\x8b")
	if err == nil && len(body) > maxProfile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxProfile)
	}
	return body, err
}

const leastLength = 20 * time.Millisecond // of a profile or trace that still shows something

// shorter calls read for a profile or trace of the given length. If the time limit of a server or
// proxy refuses the length or cuts the answer off, it tries half the length, rounded down to a
// multiple of step. It returns the length of the answer.
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

// tooLong reports whether err may come from a time limit on answers. net/http/pprof refuses a
// length beyond the WriteTimeout of its server; http.TimeoutHandler and proxies send an answer of
// their own; others close the connection.
func tooLong(err error) bool {
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return status.Code == http.StatusBadRequest && strings.Contains(status.Error(), "WriteTimeout") ||
			status.Code == http.StatusServiceUnavailable || status.Code == http.StatusGatewayTimeout
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

const serveIt = "does net/http/pprof serve /debug/pprof/ on the debug address?"

// read reads the first limit+1 bytes of an answer, so that the caller sees whether it is longer
// than limit. The answer must begin with magic.
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
