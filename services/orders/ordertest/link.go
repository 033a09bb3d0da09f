package ordertest

import (
	"net/http"
	"net/url"

	"dyno/parts/servicetest/proxy"
)

// RunLinked starts the program with a proxy before its database, so that a test can take the
// database away from the one program and leave it to all others.
func (c *Client) RunLinked() *proxy.Proxy {
	c.T.Helper()
	direct := c.database(c.T)
	dsn, err := url.Parse(direct)
	if err != nil {
		c.T.Fatal(err)
	}
	p := proxy.New(c.T, dsn.Host)
	dsn.Host = p.Addr()
	c.Env.DSN = dsn.String()
	c.runOver(direct)
	return p
}

// Ready is the status of /readyz.
func (c *Client) Ready() int {
	c.T.Helper()
	resp, err := c.HTTP.Get(c.Program.Debug + "/readyz")
	if err != nil {
		c.T.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Back waits until a program has found its database again, and checks that it is as before.
func Back(c *Client, me string, uid int64) {
	c.T.Helper()
	Await(c.T, "the database to be found again", func() bool {
		return c.Ready() == http.StatusOK && c.Get(me, OrderPath(uid)).Status == http.StatusOK
	})
	c.Exec("UPDATE orders SET filled = filled + 1 WHERE uid = $1", uid)
	version := Value[int64](c, "SELECT version FROM orders WHERE uid = $1", uid)
	if o := c.Order(me, uid); o.Version != version {
		c.T.Fatalf("version %d was committed, %d was read", version, o.Version)
	}
	body := MessageOf("away", me).JSON()                      // which may have been committed without an answer
	Await(c.T, "submissions to be taken again", func() bool { // by connections unused since
		r := c.Submit(me, TypeJSON, body)
		return r.Status == http.StatusCreated || r.Status == http.StatusOK
	})
	made := Read[Receipt](c, c.Submit(me, TypeJSON, body), http.StatusOK)
	if n := Value[int](c, "SELECT count(*) FROM orders WHERE account = $1 AND client_order_id = 'away'", me); n != 1 || !made.Duplicate {
		c.T.Fatalf("%d orders by one submission, %+v", n, made)
	}
}
