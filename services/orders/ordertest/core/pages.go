package core

import (
	"net/http"

	"dyno/parts/guard/guardtest"
	"dyno/services/orders/ordertest"
)

// refusesPages holds that other sites' pages get nothing from either address, not even where their
// user is allowed to.
func refusesPages(c *ordertest.Client) {
	for _, request := range [][2]string{{"GET", "/api/v1/order?uid=1"}, {"POST", "/api/v1/submit"}, {"GET", "/nothing"}} {
		guardtest.Refuses(c.T, c.HTTP, request[0], c.Program.URL+request[1], "{}")
		guardtest.Allows(c.T, c.HTTP, request[0], c.Program.URL+request[1], "{}", c.Env.AllowOrigin)
	}
	guardtest.Refuses(c.T, c.HTTP, http.MethodGet, c.Program.Debug+"/readyz", "")
}
