package history

import (
	"cmp"
	"slices"
)

// checker is the state of one Check.
type checker struct {
	h       *History
	v       *Verdict
	notices map[string]*posted
	subs    map[string]*subscription
}

// posted is what is known of one notice.
type posted struct {
	Notice
	began, acked Moment // the first attempt; the first acknowledgement, or Never
	seq          uint64 // 0: not known
	taken        Moment // when the request began whose answer said that it is new; 0: none
}

// Check says what is wrong with a history that has ended: whose every notice was acknowledged, and
// of which nothing was pending when the account was taken.
func Check(h *History) *Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &checker{h: h, v: &Verdict{Broken: map[Kind]int{}}, notices: map[string]*posted{}, subs: map[string]*subscription{}}
	for _, fault := range h.Faults {
		c.v.breaks(Faulty, "%s", fault)
	}
	c.checkPosts()
	c.checkNumbers()
	c.readChanges()
	c.checkListings()
	c.checkDeliveries()
	c.checkLost()
	c.checkAccount()
	return c.v
}

// checkPosts reads the answers: each notice has one number, each number one notice, and what was
// posted together was stored together.
func (c *checker) checkPosts() {
	posts := slices.Clone(c.h.Posts)
	slices.SortFunc(posts, func(a, b Post) int { return cmp.Compare(a.Began, b.Began) })
	owner := map[uint64]string{}
	for _, p := range posts {
		for _, n := range p.Notices {
			if c.notices[n.ID] == nil {
				c.notices[n.ID] = &posted{Notice: n, began: p.Began, acked: Never}
			}
		}
		if p.Answered == Never {
			continue
		}
		if len(p.Results) != len(p.Notices) {
			c.v.breaks(HalfBatch, "%d notices from %s on were answered with %d numbers", len(p.Notices), p.Notices[0].ID, len(p.Results))
			continue
		}
		fresh := 0
		for i, r := range p.Results {
			c.acknowledge(c.notices[p.Notices[i].ID], p, r, owner)
			if !r.Duplicate {
				fresh++
			}
			if i > 0 && r.Seq <= p.Results[i-1].Seq {
				c.v.breaks(SeqReused, "in one batch %s got %d after %d", p.Notices[i].ID, r.Seq, p.Results[i-1].Seq)
			}
		}
		if fresh != 0 && fresh != len(p.Results) {
			c.v.breaks(HalfBatch, "of %d notices from %s on, posted again, %d were new", len(p.Notices), p.Notices[0].ID, fresh)
		}
	}
}

func (c *checker) acknowledge(n *posted, p Post, r Result, owner map[uint64]string) {
	if other, taken := owner[r.Seq]; taken && other != n.ID {
		c.v.breaks(SeqReused, "%d is the number of %s and of %s", r.Seq, other, n.ID)
	}
	owner[r.Seq] = n.ID
	if n.seq != 0 && n.seq != r.Seq {
		c.v.breaks(Renumbered, "%s was %d and is %d", n.ID, n.seq, r.Seq)
	}
	if !r.Duplicate && n.acked < p.Began {
		c.v.breaks(Forgotten, "%s was acknowledged as %d and then taken for new as %d", n.ID, n.seq, r.Seq)
	}
	if !r.Duplicate {
		n.taken = p.Began
	}
	if n.seq == 0 {
		n.seq = r.Seq
		c.v.Acknowledged++
	}
	n.acked = min(n.acked, p.Answered)
}

// checkNumbers holds that what was posted after something had been acknowledged has a larger
// number.
func (c *checker) checkNumbers() {
	type edge struct {
		at Moment
		n  *posted
	}
	var begins, acks []edge
	for _, n := range c.notices {
		if n.acked == Never {
			c.v.breaks(Unterminated, "%s was never acknowledged", n.ID)
			continue
		}
		begins, acks = append(begins, edge{n.began, n}), append(acks, edge{n.acked, n})
	}
	byTime := func(a, b edge) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(begins, byTime)
	slices.SortFunc(acks, byTime)
	var highest *posted
	for _, b := range begins {
		for len(acks) > 0 && acks[0].at < b.at {
			if highest == nil || acks[0].n.seq > highest.seq {
				highest = acks[0].n
			}
			acks = acks[1:]
		}
		if highest != nil && b.n.seq <= highest.seq {
			c.v.breaks(SeqReused, "%s got %d, although %s had been acknowledged as %d before it was posted", b.n.ID, b.n.seq, highest.ID, highest.seq)
		}
	}
}
