package full

import (
	"net/http"
	"strings"

	"dyno/services/orders/ordertest"
)

func refusesMethods(c *ordertest.Client) {
	me := c.Account(1)
	for _, tt := range []struct{ method, path, allow string }{
		{"POST", "/api/v1/order", "GET"}, {"DELETE", "/api/v1/order", "GET"}, {"PUT", "/api/v1/orders", "GET"},
		{"PATCH", "/api/v1/orders", "GET"}, {"GET", "/api/v1/submit", "POST"}, {"DELETE", "/api/v1/submit", "POST"},
	} {
		r := c.Do(ordertest.Request{Method: tt.method, Path: tt.path, Token: c.Ring.Token(me)})
		c.Refused(r, http.StatusMethodNotAllowed, "")
		if !strings.Contains(r.Header.Get("Allow"), tt.allow) {
			c.T.Errorf("%s %s: Allow %q", tt.method, tt.path, r.Header.Get("Allow"))
		}
	}
	for _, path := range []string{"/", "/api/v1", "/api/v1/order/", "/api/v1/ordersx", "/api/v2/order", "/readyz", "/metrics", "/debug/pprof/", "/api/v1/%2e%2e/order"} {
		c.T.Log(path)
		c.Refused(c.Get(me, path), http.StatusNotFound, "")
	}
}
