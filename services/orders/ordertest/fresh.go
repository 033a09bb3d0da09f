package ordertest

import (
	"fmt"
	"net/http"
	"sync"
)

// readers read an order all the time until they are stopped, and hold that its version never falls:
// an answer that begins after another has ended is not older.
func (c *client) readers(account string, uid int64, n int) (stop func()) {
	done := make(chan struct{})
	faults := make(chan string, n)
	var all sync.WaitGroup
	ask := request{path: orderPath(uid), token: c.ring.token(account)}
	for range n {
		all.Go(func() {
			last := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := c.try(ask)
				var o order
				if err == nil {
					o, err = r.order()
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
		c.t.Helper()
		close(done)
		all.Wait()
		close(faults)
		for fault := range faults {
			c.t.Error(fault)
		}
	}
}

// showsCommitted: a read that begins after a commit was acknowledged sees it, also of another
// program's change.
func showsCommitted(c *client) {
	me := c.account(1)
	uid := c.one(me)
	defer c.readers(me, uid, 4)()
	for i := range int64(200) {
		c.exec("UPDATE orders SET filled = filled + 1 WHERE uid = $1", uid)
		if o := c.order(me, uid); o.Version != i+2 {
			c.t.Fatalf("version %d was committed, %d was read", i+2, o.Version)
		}
		if c.lists && i%10 == 0 {
			if p := c.page(me, nil); p.Orders[0].Version != i+2 {
				c.t.Fatalf("version %d was committed, %d was listed", i+2, p.Orders[0].Version)
			}
		}
	}
	c.exec("UPDATE orders SET status = 4 WHERE uid = $1", uid)
	if o := c.order(me, uid); o.Status != "CANCELLED" || o.Version != 202 {
		c.t.Fatalf("after its end: %+v", o)
	}
}

// showsAcknowledged: an order can be read when its submission was answered, and was not there
// before, however often a client asked.
func showsAcknowledged(c *client) {
	me := c.account(1)
	for i := range 50 {
		next := c.one(me) + 1 // which the submission is likely to get, and is asked for before
		for range 2 {
			if r := c.get(me, orderPath(next)); r.status != http.StatusNotFound && r.status != http.StatusOK { // other tests make orders, too
				c.t.Fatal(r)
			}
		}
		made := read[receipt](c, c.submit(me, typeJSON, messageOf(fmt.Sprint("fresh", i), me).json()), http.StatusCreated)
		if o := c.order(me, made.UID); o.Version != 1 || o.Account != me {
			c.t.Fatalf("%+v", o)
		}
		if c.lists && c.page(me, nil).Orders[0].UID != made.UID {
			c.t.Fatalf("order %d is not the newest", made.UID)
		}
	}
}
