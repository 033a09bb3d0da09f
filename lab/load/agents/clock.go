package agents

import (
	"context"
	"fmt"
	"time"

	"dyno/agent/monotonic"
)

// trips is the number of round trips from which a clock's offset is estimated.
const trips = 8

// offset says by how many ns another clock is ahead of this one. The true value is within error
// of ahead, since neither way of a round trip takes longer than the whole trip.
type offset struct{ ahead, error int64 }

// offsetOf computes an offset from a round trip, as NTP does (RFC 5905, section 8). This clock
// read sent when the request left and back when the answer arrived.
func offsetOf(sent int64, there times, back int64) offset {
	return offset{
		ahead: ((there.Received - sent) + (there.Answered - back)) / 2,
		error: ((back - sent) - (there.Answered - there.Received) + 1) / 2,
	}
}

// readClock estimates the offset of an agent's clock from the fastest of several round trips.
func readClock(ctx context.Context, net Network, agent string) (best offset, err error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	best.error = int64(time.Hour)
	for range trips {
		sent := monotonic.Now()
		message, err := net.Request(ctx, clockSubject+agent, nil)
		back := monotonic.Now()
		if err != nil {
			return best, fmt.Errorf("reading its clock: %w", err)
		}
		there, err := decode[times](message)
		if err != nil {
			return best, fmt.Errorf("reading its clock: %w", err)
		}
		if o := offsetOf(sent, there, back); o.error >= 0 && o.error < best.error {
			best = o
		}
	}
	if best.error == int64(time.Hour) {
		return best, fmt.Errorf("reading its clock: it states impossible times")
	}
	return best, nil
}
