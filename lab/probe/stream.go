package probe

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
)

// streamAgain is the delay before the probe opens a broken stream again.
const streamAgain = 500 * time.Millisecond

// follow reads the agent's stream until ctx is done. When the stream breaks, it opens it again.
func (w *Watcher) follow(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		w.stream(ctx)
		w.update(func() { w.streaming = false })
		again.Reset(streamAgain)
	}
}

// stream reads the stream once, to its end. The reason for the end does not matter: either follow
// opens the stream again, or the windows show that the agent was not seen.
func (w *Watcher) stream(ctx context.Context) {
	resp, err := w.client.Get(ctx, agent.PathSamples)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	w.update(func() { w.streaming = true })
	offset, known := int64(0), false
	readSamples(resp.Body, func(s sample) {
		now := monotonic.Now()
		if !known {
			offset, known = clockOffset(s.At, now), true
			w.update(func() { w.remote = offset != 0 })
		}
		s.At += offset
		if s.At > now+clockTolerance || s.At < now-clockTolerance {
			return // the timeline only moves forward: one sample from the future would exclude all later ones
		}
		w.update(func() { w.samples.add(s) })
	})
}

// clockTolerance is the maximum difference, in ns, between a sample's time and its arrival. A
// larger difference means that the clock is another machine's.
const clockTolerance = int64(5 * time.Second)

// clockOffset returns the offset to add to the times of an agent's samples. at is the time of its
// first sample, and now when that arrived. The probe cannot read another machine's clock, so that
// machine's samples count as taken when they arrive.
func clockOffset(at, now int64) int64 {
	if d := now - at; d > clockTolerance || d < -clockTolerance {
		return d
	}
	return 0
}

// readSamples passes the samples of a stream to take, until the stream ends or a line is too long.
// It skips invalid lines.
func readSamples(r io.Reader, take func(sample)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSampleLine)
	for lines.Scan() {
		if s, err := parseSample(lines.Bytes()); err == nil {
			take(s)
		}
	}
}
