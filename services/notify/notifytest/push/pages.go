package push

import (
	"testing"

	"dyno/parts/guard/guardtest"
	"dyno/services/notify/notifytest"
)

// refusesStreamsToPages holds the same of streams, which pages may open without asking first.
func refusesStreamsToPages(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.AllowOrigin = notifytest.Listed
	c := notifytest.Open(t, start, l)
	guardtest.Refuses(t, c.HTTP, "GET", c.Program.URL+"/v1/stream", "")
	guardtest.Refuses(t, c.HTTP, "GET", c.Program.URL+"/v1/ws", "")
	guardtest.Allows(t, c.HTTP, "GET", c.Program.URL+"/v1/stream", "", notifytest.Listed)
}
