package notifytest

import (
	"testing"

	"dyno/parts/guard/guardtest"
)

// listed is an origin whose pages may call, where a test says so.
const listed = "https://shop.example"

// refusesPages holds that other sites' pages can neither subscribe themselves nor read or write
// anything else.
func refusesPages(t *testing.T, start Start) {
	c := open(t, start, limits)
	for _, request := range [][2]string{{"POST", "/v1/subscriptions"}, {"POST", "/v1/notices"}, {"GET", "/v1/stats"}, {"DELETE", "/v1/dead/x-1"}, {"GET", "/nothing"}} {
		guardtest.Refuses(t, c.http, request[0], c.program.URL+request[1], "no JSON")
	}
	if n := len(c.stats().Subscriptions); n != 0 {
		t.Errorf("%d subscriptions were made", n)
	}
}

func allowsPages(t *testing.T, start Start) {
	l := limits
	l.AllowOrigin = listed
	c := open(t, start, l)
	guardtest.Refuses(t, c.http, "GET", c.program.URL+"/v1/stats", "")
	guardtest.Allows(t, c.http, "GET", c.program.URL+"/v1/stats", "", listed)
	guardtest.Allows(t, c.http, "POST", c.program.URL+"/v1/notices", "no JSON", listed)
	guardtest.Allows(t, c.http, "DELETE", c.program.URL+"/v1/subscriptions/x", "", listed)
}

// refusesStreamsToPages holds the same of streams, which pages may open without asking first.
func refusesStreamsToPages(t *testing.T, start Start) {
	l := limits
	l.AllowOrigin = listed
	c := open(t, start, l)
	guardtest.Refuses(t, c.http, "GET", c.program.URL+"/v1/stream", "")
	guardtest.Refuses(t, c.http, "GET", c.program.URL+"/v1/ws", "")
	guardtest.Allows(t, c.http, "GET", c.program.URL+"/v1/stream", "", listed)
}
