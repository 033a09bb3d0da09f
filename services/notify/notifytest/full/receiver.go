package full

import (
	"sync/atomic"

	"dyno/services/notify/notifytest"
)

// gone answers 410 at one path.
func gone(h notifytest.Hook) notifytest.Reply {
	if h.Path == "/gone" {
		return notifytest.Reply{Status: 410}
	}
	return notifytest.Reply{Status: 200}
}

// staged fails at state 0, is held at 1, and answers at 2.
func staged(state *atomic.Int32) func(notifytest.Hook) notifytest.Reply {
	return func(h notifytest.Hook) notifytest.Reply {
		if state.Load() == 0 {
			return notifytest.Reply{Status: 500}
		}
		if state.Load() == 1 {
			h.Wait()
		}
		return notifytest.Reply{Status: 200}
	}
}
