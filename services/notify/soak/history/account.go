package history

// checkLost holds that every living subscription has got, or has among its dead letters, every
// notice that it must have got.
func (c *checker) checkLost() {
	for name, s := range c.subs {
		if !s.lives() {
			continue
		}
		dead := c.dead(name)
		c.v.Dead += len(dead)
		for id, n := range c.notices {
			_, must := s.wants(n)
			if must && n.acked != Never && s.delivered[id] == nil && !dead[id] {
				c.v.breaks(Lost, "%s (%d) never came to %s", id, n.seq, name)
			}
		}
	}
}

func (c *checker) dead(subscription string) map[string]bool {
	out := map[string]bool{}
	if c.h.Final != nil {
		for _, id := range c.h.Final.Dead[subscription] {
			out[id] = true
		}
	}
	return out
}

// checkAccount holds the dispatcher's own account against what was seen.
func (c *checker) checkAccount() {
	if c.h.Final == nil {
		c.v.breaks(Unterminated, "no account was taken at the end")
		return
	}
	c.checkSum("in total", c.h.Final.Total)
	for name, s := range c.subs {
		if !s.lives() {
			continue
		}
		row, there := c.h.Final.Subscriptions[name]
		if !there {
			c.v.breaks(Miscounted, "%s is missing", name)
			continue
		}
		c.checkSum(name, row)
		least, most := int64(0), int64(0)
		for _, n := range c.notices {
			may, must := s.wants(n)
			if must {
				least++
			}
			if may {
				most++
			}
		}
		if row.Accepted < least || row.Accepted > most {
			c.v.breaks(Miscounted, "%s has accepted %d; it wants %d to %d", name, row.Accepted, least, most)
		}
		if letters := int64(len(c.dead(name))); row.Dead != letters {
			c.v.breaks(Miscounted, "%s counts %d dead and has %d dead letters", name, row.Dead, letters)
		}
	}
}

func (c *checker) checkSum(name string, n Count) {
	if n.Pending != 0 || n.Accepted != n.Delivered+n.Dead {
		c.v.breaks(Miscounted, "%s: accepted %d is not delivered %d + dead %d, with %d pending", name, n.Accepted, n.Delivered, n.Dead, n.Pending)
	}
}
