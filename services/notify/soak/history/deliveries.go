package history

import (
	"cmp"
	"slices"
)

// checkDeliveries goes through the webhooks as they arrived.
func (c *checker) checkDeliveries() {
	hooks := slices.Clone(c.h.Webhooks)
	slices.SortFunc(hooks, func(a, b *Webhook) int { return cmp.Compare(a.Arrived, b.Arrived) })
	crashes := make([]Crash, len(c.h.Processes))
	for _, w := range hooks {
		s := c.subs[w.Subscription]
		if s == nil {
			c.v.breaks(Unwanted, "a webhook to %s, which no client created", w.Subscription)
			continue
		}
		if s.gone(c.h.Processes[w.Process].Began) {
			c.v.breaks(Unwanted, "a webhook to %s, which had been deleted before process %d began", s.name, w.Process)
		}
		for _, id := range w.IDs {
			n := c.notices[id]
			if n == nil {
				c.v.breaks(Invented, "%s came to %s", id, s.name)
				continue
			}
			if may, _ := s.wants(n); !may {
				c.v.breaks(Unwanted, "%s of type %s came to %s", id, n.Type, s.name)
			}
			if w.Arrived < n.taken {
				c.v.breaks(Forgotten, "%s came to %s, and was then taken for new as %d", id, s.name, n.seq)
			}
			if w.OK && n.seq != 0 {
				c.deliver(s, n, w, crashes)
			}
		}
	}
	c.boundDuplicates(crashes)
}

// deliver books one notice that a receiver took.
func (c *checker) deliver(s *subscription, n *posted, w *Webhook, crashes []Crash) {
	c.v.Deliveries++
	before := s.delivered[n.ID]
	s.delivered[n.ID] = w
	last, followed := s.last[n.Key]
	s.last[n.Key] = step{n.seq, w}
	switch {
	case before == nil:
		if n.seq < s.highest[n.Key] {
			c.v.breaks(Reordered, "%s (%d) came to %s first from process %d, after %d of the same key %s; the last before was %d from process %d",
				n.ID, n.seq, s.name, w.Process, s.highest[n.Key], n.Key, last.seq, last.webhook.Process)
		}
		s.highest[n.Key] = max(s.highest[n.Key], n.seq)
	case before.Process != w.Process:
		crashes[before.Process].Duplicates++
	case before.Answered != Never:
		c.v.breaks(Repeated, "%s (%d) came to %s twice from process %d", n.ID, n.seq, s.name, w.Process)
		return
	}
	if followed && last.webhook.Process == w.Process && last.webhook.Answered != Never && n.seq < last.seq {
		c.v.breaks(Reordered, "%s (%d) came to %s from process %d after %d of the same key %s", n.ID, n.seq, s.name, w.Process, last.seq, n.Key)
	}
}

// boundDuplicates holds each crash to what was in flight. A change of a subscription that was
// acknowledged made durable what had been booked before it began; so what may come again is what
// was answered since the last such change of that process, and what had been answered then but not
// been booked: to each subscription no more webhooks than it lets be in flight.
func (c *checker) boundDuplicates(crashes []Crash) {
	byProcess := make([]map[string][]*Webhook, len(crashes))
	for _, w := range c.h.Webhooks {
		if byProcess[w.Process] == nil {
			byProcess[w.Process] = map[string][]*Webhook{}
		}
		if c.subs[w.Subscription] != nil && w.OK {
			byProcess[w.Process][w.Subscription] = append(byProcess[w.Process][w.Subscription], w)
		}
	}
	for i, crash := range crashes {
		p := c.h.Processes[i]
		if p.Crashed == Never {
			continue
		}
		durable := c.durable(p)
		crash.Process = i
		crash.Bound = c.inFlight(byProcess[i], durable)
		if crash.Duplicates > crash.Bound {
			c.v.breaks(Excess, "%d notices came again after process %d crashed; %d were in flight", crash.Duplicates, i, crash.Bound)
		}
		c.v.Duplicates += crash.Duplicates
		c.v.Bound += crash.Bound
		c.v.Crashes = append(c.v.Crashes, crash)
	}
}

// durable returns the moment up to which everything that a process had booked is durable for
// certain.
func (c *checker) durable(p Process) Moment {
	at := p.Began
	for _, ch := range c.h.Changes {
		if ch.Durable > at && ch.Acked < p.Crashed {
			at = ch.Durable
		}
	}
	return at
}

// inFlight counts the notices that were taken since a moment, and the most that the webhooks in
// flight at that moment can have held: to each subscription the largest few.
func (c *checker) inFlight(hooks map[string][]*Webhook, since Moment) (notices int) {
	var held []int // by the webhooks that may have been in flight
	for name, hooks := range hooks {
		var before []int
		for _, w := range hooks {
			if w.Answered < since {
				before = append(before, len(w.IDs))
			} else {
				notices += len(w.IDs)
			}
		}
		held = append(held, largest(before, c.subs[name].concurrency())...)
	}
	for _, n := range held {
		notices += n
	}
	return notices
}

// largest returns the largest few.
func largest(numbers []int, few int) []int {
	slices.Sort(numbers)
	return numbers[max(0, len(numbers)-few):]
}
