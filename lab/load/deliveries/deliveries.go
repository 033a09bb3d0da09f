// Package deliveries reads reports that accepted requests have arrived at their destination, so
// that latency can be measured up to the delivery instead of the answer. A sink of notices
// reports deliveries in a stream (Stream); an Ethereum node reports them in its blocks (Blocks).
// A sink serves
//
//	GET /receipts?run=RUN
//
// as lines "ID NS". ID has the form RUN-HEX16, where the last 16 hexadecimal digits are the
// request's sequence number. NS is the instant on CLOCK_MONOTONIC, in ns, at which the notice had
// arrived in full. Lines of other runs are skipped. With a line "error: ..." the sink reports
// that deliveries were lost.
//
// A transaction counts as delivered when a node announces a block that contains it (eth_subscribe
// newHeads, over a WebSocket). An announcement holds the block's header only, so the package also
// reads each block that is not empty (eth_getBlockByHash, hashes only) over the same socket: this
// is the load that the measurement adds to the node. The instant of the commit is when the
// announcement arrived, not when the block was read. If the chain reorganizes, the first block
// with a transaction counts.
//
// The package does not match reports to requests (load.Recorder does), and it does not reconnect:
// a broken stream has lost reports, and without them the run is invalid. A Stream has no
// goroutine of its own; Blocks.Follow owns one, which has ended when it returns.
package deliveries

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
)

// maxLine bounds a line in bytes: an ID of up to 100 bytes and a time.
const maxLine = 256

// dialTimeout bounds the wait for the stream's header.
const dialTimeout = 5 * time.Second

// Stream is an open stream of a sink's reports.
type Stream struct {
	run    []byte
	body   io.ReadCloser
	cancel context.CancelFunc
	client *http.Client
}

// Dial opens the stream of a run. It returns once the sink has answered, so that no delivery of a
// later request is missed. The stream stays open until Close, or until ctx is done.
func Dial(ctx context.Context, url, run string) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: dialTimeout, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("requesting receipts: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("requesting receipts: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		const quoted = 200 // bytes of the answer that the error shows
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, quoted))
		resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("requesting receipts from %s: %s: %s", url, resp.Status, bytes.TrimSpace(answer))
	}
	return &Stream{run: []byte(run), body: resp.Body, cancel: cancel, client: client}, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.cancel()
	s.body.Close()
	s.client.CloseIdleConnections()
}

// Follow passes each delivery to the recorder until ctx is done. If the stream ends for any other
// reason, Follow returns an error. Follow is a load.Deliveries.
func (s *Stream) Follow(ctx context.Context, rec *load.Recorder) error {
	defer context.AfterFunc(ctx, s.cancel)()
	err := follow(s.body, s.run, rec.Delivered)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var _ load.Deliveries = (&Stream{}).Follow

func follow(r io.Reader, run []byte, delivered func(seq uint64, at int64)) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return fmt.Errorf("the sink ended its stream of receipts after %d lines", n-1)
		case err != nil:
			return fmt.Errorf("receipt %d: %w", n, err)
		case len(line) > maxLine:
			return fmt.Errorf("receipt %d: a line of %d bytes; a receipt has at most %d", n, len(line), maxLine)
		}
		seq, at, ours, err := parse(line[:len(line)-1], run)
		if err != nil {
			return fmt.Errorf("receipt %d: %w", n, err)
		}
		if ours {
			delivered(seq, at)
		}
	}
}

// parse parses "RUN-HEX16 NS"; ours is false if the line belongs to another run.
func parse(line, run []byte) (seq uint64, at int64, ours bool, err error) {
	if complaint, ok := bytes.CutPrefix(line, []byte("error: ")); ok {
		return 0, 0, false, fmt.Errorf("the sink says: %s", complaint)
	}
	id, time, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return 0, 0, false, fmt.Errorf("%.80q is not an ID and a time", line)
	}
	rest, mine := bytes.CutPrefix(id, run)
	if !mine || len(rest) != 1+corpus.IDLength || rest[0] != '-' {
		return 0, 0, false, nil
	}
	seq, ok = corpus.ParseID(rest[1:])
	if !ok {
		return 0, 0, false, fmt.Errorf("%.80q does not end in %d hexadecimal digits", id, corpus.IDLength)
	}
	if len(time) == 0 || len(time) > 18 { // 18 digits of ns are 31 years of uptime
		return 0, 0, false, fmt.Errorf("%.80q is not a time in ns", time)
	}
	for _, c := range time {
		if c < '0' || c > '9' {
			return 0, 0, false, fmt.Errorf("%.80q is not a time in ns", time)
		}
		at = at*10 + int64(c-'0')
	}
	return seq, at, true, nil
}
