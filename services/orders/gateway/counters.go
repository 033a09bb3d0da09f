package gateway

import "sync/atomic"

// counters count requests: in flight, and answered by class of status.
type counters struct {
	running atomic.Int64
	classes [6]atomic.Uint64
}

func (c *counters) begin() (inFlight int64) { return c.running.Add(1) }
func (c *counters) inFlight() int64         { return c.running.Load() }
func (c *counters) end(status int) {
	c.classes[classOf(status)].Add(1)
	c.running.Add(-1)
}

// answered counts the answers of a class: 1 to 5 stand for the statuses 1xx to 5xx.
func (c *counters) answered(hundreds int) uint64 { return c.classes[hundreds].Load() }

// classOf gives a status' hundreds.
func classOf(status int) int {
	if status < 100 || status > 599 {
		return 5
	}
	return status / 100
}
