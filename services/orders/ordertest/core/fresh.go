package core

import (
	"fmt"
	"net/http"
	"sync"

	"dyno/services/orders/ordertest"
)

// readers read an order all the time until they are stopped, and hold that its version never falls:
// an answer that begins after another has ended is not older.
func readers(c *ordertest.Client, account string, uid int64, n int) (stop func()) {
	done := make(chan struct{})
	faults := make(chan string, n)
	var all sync.WaitGroup
	ask := ordertest.Request{Path: ordertest.OrderPath(uid), Token: c.Ring.Token(account)}
	for range n {
		all.Go(func() {
			last := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := c.Try(ask)
				var o ordertest.Order
				if err == nil {
					o, err = r.Order()
				}
				if err != nil || o.UID != uid || o.Account != account || o.Version < last {
					faults <- fmt.Sprintf("after version %d: %s, %v", last, r, err)
					return
				}
				last = o.Version
			}
		})
	}
	return func() {
		c.T.Helper()
		close(done)
		all.Wait()
		close(faults)
		for fault := range faults {
			c.T.Error(fault)
		}
	}
}

// showsCommitted: a read that begins after a commit was acknowledged sees it, also of another
// program's change.
func showsCommitted(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	defer readers(c, me, uid, 4)()
	for i := range int64(200) {
		c.Exec("UPDATE orders SET filled = filled + 1 WHERE uid = $1", uid)
		if o := c.Order(me, uid); o.Version != i+2 {
			c.T.Fatalf("version %d was committed, %d was read", i+2, o.Version)
		}
		if c.Lists && i%10 == 0 {
			if p := ordertest.ListPage(c, me, nil); p.Orders[0].Version != i+2 {
				c.T.Fatalf("version %d was committed, %d was listed", i+2, p.Orders[0].Version)
			}
		}
	}
	c.Exec("UPDATE orders SET status = 4 WHERE uid = $1", uid)
	if o := c.Order(me, uid); o.Status != "CANCELLED" || o.Version != 202 {
		c.T.Fatalf("after its end: %+v", o)
	}
}

// showsAcknowledged: an order can be read when its submission was answered, and was not there
// before, however often a client asked.
func showsAcknowledged(c *ordertest.Client) {
	me := c.Account(1)
	for i := range 50 {
		next := c.One(me) + 1 // which the submission is likely to get, and is asked for before
		for range 2 {
			if r := c.Get(me, ordertest.OrderPath(next)); r.Status != http.StatusNotFound && r.Status != http.StatusOK { // other tests make orders, too
				c.T.Fatal(r)
			}
		}
		made := ordertest.Read[ordertest.Receipt](c, c.Submit(me, ordertest.TypeJSON, ordertest.MessageOf(fmt.Sprint("fresh", i), me).JSON()), http.StatusCreated)
		if o := c.Order(me, made.UID); o.Version != 1 || o.Account != me {
			c.T.Fatalf("%+v", o)
		}
		if c.Lists && ordertest.ListPage(c, me, nil).Orders[0].UID != made.UID {
			c.T.Fatalf("order %d is not the newest", made.UID)
		}
	}
}
