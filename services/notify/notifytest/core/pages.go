package core

import (
	"testing"

	"dyno/parts/guard/guardtest"
	"dyno/services/notify/notifytest"
)

// refusesPages holds that other sites' pages can neither subscribe themselves nor read or write
// anything else.
func refusesPages(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	for _, request := range [][2]string{{"POST", "/v1/subscriptions"}, {"POST", "/v1/notices"}, {"GET", "/v1/stats"}, {"DELETE", "/v1/dead/x-1"}, {"GET", "/nothing"}} {
		guardtest.Refuses(t, c.HTTP, request[0], c.Program.URL+request[1], "no JSON")
	}
	if n := len(c.Stats().Subscriptions); n != 0 {
		t.Errorf("%d subscriptions were made", n)
	}
}

func allowsPages(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.AllowOrigin = notifytest.Listed
	c := notifytest.Open(t, start, l)
	guardtest.Refuses(t, c.HTTP, "GET", c.Program.URL+"/v1/stats", "")
	guardtest.Allows(t, c.HTTP, "GET", c.Program.URL+"/v1/stats", "", notifytest.Listed)
	guardtest.Allows(t, c.HTTP, "POST", c.Program.URL+"/v1/notices", "no JSON", notifytest.Listed)
	guardtest.Allows(t, c.HTTP, "DELETE", c.Program.URL+"/v1/subscriptions/x", "", notifytest.Listed)
}
