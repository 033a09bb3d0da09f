package ordertest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// page is the answer to a list.
type page struct {
	Orders []order `json:"orders"`
	Next   *string `json:"next"`
}

// page asks for orders of an account.
func (c *client) page(account string, query url.Values) page {
	c.t.Helper()
	return read[page](c, c.get(account, "/api/v1/orders?"+query.Encode()), http.StatusOK)
}

// pages follows the cursors from the first page to the last.
func (c *client) pages(account string, query url.Values, between func()) (uids []int64) {
	c.t.Helper()
	for {
		p := c.page(account, query)
		for _, o := range p.Orders {
			uids = append(uids, o.UID)
		}
		if p.Next == nil {
			return uids
		}
		if len(p.Orders) == 0 || *p.Next == "" || len(uids) > 10_000 {
			c.t.Fatalf("after %d orders, %d more and next %q", len(uids), len(p.Orders), *p.Next)
		}
		query.Set("cursor", *p.Next)
		between()
	}
}

// newest turns numbers round: the highest first.
func newest(uids []int64) []int64 {
	out := slices.Sorted(slices.Values(uids))
	slices.Reverse(out)
	return out
}

func listsNewest(c *client) {
	me := c.account(1)
	if r := c.get(me, "/api/v1/orders"); string(r.body) != `{"orders":[]}` || r.status != http.StatusOK {
		c.t.Fatalf("no orders: %s", r)
	}
	uids := newest(c.insert(me, 51))
	whole := c.page(me, url.Values{"limit": {"500"}, "account": {me}})
	if whole.Next != nil || len(whole.Orders) != 51 {
		c.t.Fatalf("%d orders, next %v", len(whole.Orders), whole.Next)
	}
	for i, o := range whole.Orders {
		if o.UID != uids[i] || o.Account != me || o.Price != "101.25" || o.Version != 1 {
			c.t.Fatalf("at %d: %+v, want %d", i, o, uids[i])
		}
	}
	if first := c.page(me, url.Values{}); len(first.Orders) != 50 || first.Next == nil {
		c.t.Fatalf("without a limit: %d orders, next %v", len(first.Orders), first.Next)
	}
	single := fmt.Sprintf(`{"orders":[%s]`, c.get(me, orderPath(uids[0])).body)
	if r := c.get(me, "/api/v1/orders?limit=1"); len(r.body) < len(single) || string(r.body[:len(single)]) != single {
		c.t.Fatalf("%s\nwant it to begin with %s", r, single)
	}
	for _, limit := range []string{"1", "17", "50", "51", "52"} {
		if got := c.pages(me, url.Values{"limit": {limit}}, func() {}); !slices.Equal(got, uids) {
			c.t.Errorf("by %s: %v, want %v", limit, got, uids)
		}
	}
}

func listsByStatus(c *client) {
	me := c.account(1)
	uids := c.insert(me, 12)
	byStatus := map[string][]int64{}
	for i, uid := range uids {
		name := []string{"NEW", "PARTIALLY_FILLED", "FILLED", "CANCELLED"}[i%4]
		byStatus[name] = append(byStatus[name], uid)
		if i%4 > 0 {
			c.exec("UPDATE orders SET status = $2 WHERE uid = $1", uid, i%4+1)
		}
	}
	for name, want := range byStatus {
		if got := c.pages(me, url.Values{"status": {name}, "limit": {"2"}}, func() {}); !slices.Equal(got, newest(want)) {
			c.t.Errorf("%s: %v, want %v", name, got, newest(want))
		}
	}
}

// listsAll: what was there when the list began is listed once, whatever is added meanwhile.
func listsAll(c *client) {
	me := c.account(1)
	uids := newest(c.insert(me, 100))
	added := 0
	got := c.pages(me, url.Values{"limit": {"7"}}, func() {
		c.insert(me, 3)
		c.exec("UPDATE orders SET filled = filled + 1 WHERE account = $1 AND uid % 3 = 0", me)
		added += 3
	})
	if !slices.Equal(got, uids) {
		c.t.Fatalf("%v\nwant %v", got, uids)
	}
	if n := len(c.pages(me, url.Values{}, func() {})); n != 100+added {
		c.t.Fatalf("%d orders in the end, want %d", n, 100+added)
	}
}

func listsOwn(c *client) {
	me, other := c.account(1), c.account(2)
	c.insert(me, 3)
	c.insert(other, 3)
	c.refused(c.get(me, "/api/v1/orders?account="+other), http.StatusForbidden, c.get(me, "/api/v1/orders?account="+other).field())
	theirs := c.page(other, url.Values{"limit": {"1"}})
	for _, o := range c.page(me, url.Values{"cursor": {*theirs.Next}}).Orders { // a cursor opens nothing
		if o.Account != me {
			c.t.Fatalf("%s was shown %+v", me, o)
		}
	}
}

func refusesLists(c *client) {
	me := c.account(1)
	c.insert(me, 3)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=501": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=99999999999999999999": "limit",
		"status=OPEN": "status", "status=new": "status", "status=1": "status",
		"cursor=x": "cursor", "cursor=%20": "cursor", "cursor=' OR 1=1": "cursor",
	} {
		c.t.Log(query)
		values, err := url.ParseQuery(query)
		if err != nil {
			c.t.Fatal(err)
		}
		c.refused(c.get(me, "/api/v1/orders?"+values.Encode()), http.StatusBadRequest, field)
	}
}

// keepsEnded: caches rely on it that what has ended stays as it is, whatever program tries to
// change it.
func keepsEnded(c *client) {
	me := c.account(1)
	uid := c.one(me)
	c.exec("UPDATE orders SET status = 3, filled = qty WHERE uid = $1", uid)
	for _, change := range []string{
		"UPDATE orders SET status = 1 WHERE uid = $1", "UPDATE orders SET filled = 0 WHERE uid = $1", "DELETE FROM orders WHERE uid = $1",
	} {
		if _, err := c.db.Exec(context.Background(), change, uid); err == nil {
			c.t.Errorf("%s was let through", change)
		}
	}
	if o := c.order(me, uid); o.Status != "FILLED" || o.Version != 2 {
		c.t.Fatalf("%+v", o)
	}
}
