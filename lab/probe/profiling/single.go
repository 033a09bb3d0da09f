package profiling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"dyno/lab/record"
)

// Single takes profiles of one kind each, for a caller that looks at a process from time to time
// and keeps no folder. It only reads: it runs no GC cycle, and switches nothing on. One goroutine
// may use it.
type Single struct {
	i       inspector
	fetched int64
}

// NewSingle returns a Single for a debug address; Close ends its connections.
func NewSingle(at Address) *Single {
	return &Single{i: inspector{Inspection: Inspection{Debug: at}.withDefaults(), client: New(at)}}
}

// Close closes the connections that are idle.
func (s *Single) Close() { s.i.client.Close() }

// Fetched is the number of bytes of all answers.
func (s *Single) Fetched() int64 { return s.fetched }

// CPU takes a CPU profile of a number of whole seconds.
func (s *Single) CPU(ctx context.Context, length time.Duration) (*record.Profile, error) {
	s.i.CPU = length
	encoded, length, err := s.i.over(ctx, pathCPU)
	s.fetched += int64(len(encoded))
	if err != nil {
		return nil, err
	}
	p, err := record.ReadProfile(encoded, record.ValueCPU)
	if err == nil {
		p.Seconds = length.Seconds()
	}
	return p, err
}

// Trace takes an execution trace, and returns its summary and its size in bytes.
func (s *Single) Trace(ctx context.Context, length time.Duration) (*record.Trace, int, error) {
	t, size, err := s.i.piece(ctx, length)
	s.fetched += int64(size)
	return t, size, err
}

// Goroutines adds up goroutine profiles of some moments, of one if there are more goroutines than
// Inspection.Goroutines permits.
func (s *Single) Goroutines(ctx context.Context, most int) (*record.Profile, error) {
	var all []*profile.Profile
	for len(all) < most {
		encoded, err := s.i.fetch(ctx, pathGoroutine, pageWithin)
		s.fetched += int64(len(encoded))
		p, err := parsed(encoded, err)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
		sum := int64(0)
		for _, n := range goroutinesOf(encoded) {
			sum += n
		}
		if s.i.tooMany(sum) != nil {
			break
		}
		pause(ctx, momentsApart)
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	if err := sum.Write(&encoded); err != nil {
		return nil, err
	}
	p, err := record.ReadProfile(encoded.Bytes(), record.ValueGoroutines)
	if err == nil {
		p.Samples = len(all)
	}
	return p, err
}

// Statistics reads the page of the runtime's memory statistics, as text.
func (s *Single) Statistics(ctx context.Context) ([]byte, error) {
	return s.Page(ctx, PathPprof+"heap?debug=1")
}

// Page reads a page of text. The error wraps ErrTooLarge if it has more than maxPage bytes.
func (s *Single) Page(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageWithin)
	defer cancel()
	resp, err := s.i.client.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	s.fetched += int64(len(body))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = Unexpected(resp, body)
	}
	if err == nil && len(body) > maxPage {
		err = fmt.Errorf("%s: %w: it has more than %d MB", bare(resp.Request.URL), ErrTooLarge, maxPage>>20)
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

const maxPage = 16 << 20 // bytes of a page of text

// ErrTooLarge is returned for a page of which only a part would be read.
var ErrTooLarge = errors.New("the answer is too large")

// InUse reports whether err is the answer of a target that another client profiles or traces: the
// runtime permits one CPU profile and one trace at a time.
func InUse(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusInternalServerError &&
		(strings.Contains(status.text, "already in use") || strings.Contains(status.text, "already enabled"))
}
