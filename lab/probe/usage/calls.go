package usage

import (
	"net/netip"

	"dyno/lab/probe/procfs"
)

// callsEvery is the number of readings from one reading of the target's connections to the next.
const callsEvery = 2

// Calls sums, over several readings, the number of connections that a target has open as a client,
// by the direction that was used last. The kernel has the times of the last use in ticks of some
// ms, so the order of an answer and the next request within a tick is not known.
type Calls struct {
	Readings float64
	// Asked: the target sent last, so it waits for an answer. Answered: the other process sent
	// last. Even: both sent within one tick.
	Asked, Answered, Even float64
	To                    netip.AddrPort // the address that most of the Asked lead to
}

// Between interpolates linearly: share is 0 at c and 1 at next.
func (c Calls) Between(next Calls, share float64) Calls {
	mid := func(a, b float64) float64 { return a + (b-a)*share }
	return Calls{mid(c.Readings, next.Readings), mid(c.Asked, next.Asked), mid(c.Answered, next.Answered), mid(c.Even, next.Even), next.To}
}

// Until returns the mean number of waiting connections and of open ones between two sums. The state
// of an Even connection is not known: either a long wait follows a short pause, or a long pause
// follows a short wait. In the first case most other readings of it are Asked, in the second
// Answered. So Until assumes that the same share of the Even ones waits as of the others.
func (c Calls) Until(next Calls) (waiting, open float64, to string) {
	readings := next.Readings - c.Readings
	asked, answered, even := next.Asked-c.Asked, next.Answered-c.Answered, next.Even-c.Even
	if readings <= 0 || asked <= 0 {
		return 0, max(0, answered+even) / max(1, readings), ""
	}
	waiting = asked + even*asked/(asked+answered)
	return waiting / readings, (asked + answered + even) / readings, next.To.String()
}

// calling sums the calls of a process tree.
type calling struct {
	wanted bool
	sum    Calls
	to     map[netip.AddrPort]float64
}

func (c *calling) read(h Source, f *processTree, count int) Calls {
	if !c.wanted || h.Connections == nil || count%callsEvery != 0 {
		return c.sum
	}
	if c.to == nil {
		c.to = map[netip.AddrPort]float64{}
	}
	c.sum.Readings++
	held := map[uint64]bool{}
	for pid := range f.members {
		for inode := range procfs.Held(h.Root, pid, maxClaims) {
			held[inode] = true
		}
	}
	all := h.Connections()
	serves := map[uint16]bool{}
	for _, s := range all {
		if s.Listening && held[s.Inode] {
			serves[s.Local] = true
		}
	}
	for _, s := range all {
		if s.Listening || !held[s.Inode] || serves[s.Local] || s.Sent == procfs.Never {
			continue
		}
		switch {
		case s.Sent < s.Received:
			c.sum.Asked++
			if _, known := c.to[s.Remote]; known || len(c.to) < maxPeers {
				c.to[s.Remote]++
			}
			if c.to[s.Remote] >= c.to[c.sum.To] {
				c.sum.To = s.Remote
			}
		case s.Sent > s.Received:
			c.sum.Answered++
		default:
			c.sum.Even++
		}
	}
	return c.sum
}
