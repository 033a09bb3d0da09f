package ordertest

import (
	"net/http"

	"dyno/parts/guard/guardtest"
)

// refusesPages holds that other sites' pages get nothing from either address, not even where their
// user is allowed to.
func refusesPages(c *client) {
	for _, request := range [][2]string{{"GET", "/api/v1/order?uid=1"}, {"POST", "/api/v1/submit"}, {"GET", "/nothing"}} {
		guardtest.Refuses(c.t, c.http, request[0], c.program.URL+request[1], "{}")
		guardtest.Allows(c.t, c.http, request[0], c.program.URL+request[1], "{}", c.env.AllowOrigin)
	}
	guardtest.Refuses(c.t, c.http, http.MethodGet, c.program.Debug+"/readyz", "")
}
