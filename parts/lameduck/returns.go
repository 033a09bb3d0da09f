package lameduck

// A connection that another server has handed over returns to it between two requests: there each
// of its requests costs less, and a proxy's connections carry requests for both servers.

// The fates of a connection. The first one counts.
const (
	closed   int32 = 1 + iota
	returned       // the other server has it, and alone uses it
)

// becomes gives the connection its fate, and reports whether it has that one.
func (c *Conn) becomes(fate int32) bool {
	return c.fate.CompareAndSwap(0, fate) || c.fate.Load() == fate
}

// returns gives the connection back if it may go, and reports whether it has returned. Each Read
// calls it first: that of the goroutine that serves the connection, before it waits for the next
// request, and net/http's background read, which runs only while a request is in progress.
func (c *Conn) returns(f *framing) bool {
	switch {
	case c.fate.Load() == returned:
		return true
	case c.origin == nil, c.Busy(), f.served < c.stay, len(c.unread) > 0, !f.between(), c.owner.Leaving():
		return false
	case !c.origin.Reserve():
		c.stay = f.served + 1 // it tries again after another request
		return false
	case !c.becomes(returned):
		c.origin.Drop()
		return false
	}
	c.owner.remove(c)
	c.origin.Take()
	return true
}
