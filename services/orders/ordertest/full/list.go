package full

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"dyno/services/orders/ordertest"
)

// listPages follows the cursors from the first page to the last.
func listPages(c *ordertest.Client, account string, query url.Values, between func()) (uids []int64) {
	c.T.Helper()
	for {
		p := ordertest.ListPage(c, account, query)
		for _, o := range p.Orders {
			uids = append(uids, o.UID)
		}
		if p.Next == nil {
			return uids
		}
		if len(p.Orders) == 0 || *p.Next == "" || len(uids) > 10_000 {
			c.T.Fatalf("after %d orders, %d more and next %q", len(uids), len(p.Orders), *p.Next)
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

func listsNewest(c *ordertest.Client) {
	me := c.Account(1)
	if r := c.Get(me, "/api/v1/orders"); string(r.Body) != `{"orders":[]}` || r.Status != http.StatusOK {
		c.T.Fatalf("no orders: %s", r)
	}
	uids := newest(c.Insert(me, 51))
	whole := ordertest.ListPage(c, me, url.Values{"limit": {"500"}, "account": {me}})
	if whole.Next != nil || len(whole.Orders) != 51 {
		c.T.Fatalf("%d orders, next %v", len(whole.Orders), whole.Next)
	}
	for i, o := range whole.Orders {
		if o.UID != uids[i] || o.Account != me || o.Price != "101.25" || o.Version != 1 {
			c.T.Fatalf("at %d: %+v, want %d", i, o, uids[i])
		}
	}
	if first := ordertest.ListPage(c, me, url.Values{}); len(first.Orders) != 50 || first.Next == nil {
		c.T.Fatalf("without a limit: %d orders, next %v", len(first.Orders), first.Next)
	}
	single := fmt.Sprintf(`{"orders":[%s]`, c.Get(me, ordertest.OrderPath(uids[0])).Body)
	if r := c.Get(me, "/api/v1/orders?limit=1"); len(r.Body) < len(single) || string(r.Body[:len(single)]) != single {
		c.T.Fatalf("%s\nwant it to begin with %s", r, single)
	}
	for _, limit := range []string{"1", "17", "50", "51", "52"} {
		if got := listPages(c, me, url.Values{"limit": {limit}}, func() {}); !slices.Equal(got, uids) {
			c.T.Errorf("by %s: %v, want %v", limit, got, uids)
		}
	}
}

func listsByStatus(c *ordertest.Client) {
	me := c.Account(1)
	uids := c.Insert(me, 12)
	byStatus := map[string][]int64{}
	for i, uid := range uids {
		name := []string{"NEW", "PARTIALLY_FILLED", "FILLED", "CANCELLED"}[i%4]
		byStatus[name] = append(byStatus[name], uid)
		if i%4 > 0 {
			c.Exec("UPDATE orders SET status = $2 WHERE uid = $1", uid, i%4+1)
		}
	}
	for name, want := range byStatus {
		if got := listPages(c, me, url.Values{"status": {name}, "limit": {"2"}}, func() {}); !slices.Equal(got, newest(want)) {
			c.T.Errorf("%s: %v, want %v", name, got, newest(want))
		}
	}
}

// listsAll: what was there when the list began is listed once, whatever is added meanwhile.
func listsAll(c *ordertest.Client) {
	me := c.Account(1)
	uids := newest(c.Insert(me, 100))
	added := 0
	got := listPages(c, me, url.Values{"limit": {"7"}}, func() {
		c.Insert(me, 3)
		c.Exec("UPDATE orders SET filled = filled + 1 WHERE account = $1 AND uid % 3 = 0", me)
		added += 3
	})
	if !slices.Equal(got, uids) {
		c.T.Fatalf("%v\nwant %v", got, uids)
	}
	if n := len(listPages(c, me, url.Values{}, func() {})); n != 100+added {
		c.T.Fatalf("%d orders in the end, want %d", n, 100+added)
	}
}

func listsOwn(c *ordertest.Client) {
	me, other := c.Account(1), c.Account(2)
	c.Insert(me, 3)
	c.Insert(other, 3)
	c.Refused(c.Get(me, "/api/v1/orders?account="+other), http.StatusForbidden, c.Get(me, "/api/v1/orders?account="+other).Field())
	theirs := ordertest.ListPage(c, other, url.Values{"limit": {"1"}})
	for _, o := range ordertest.ListPage(c, me, url.Values{"cursor": {*theirs.Next}}).Orders { // a cursor opens nothing
		if o.Account != me {
			c.T.Fatalf("%s was shown %+v", me, o)
		}
	}
}

func refusesLists(c *ordertest.Client) {
	me := c.Account(1)
	c.Insert(me, 3)
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=501": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=99999999999999999999": "limit",
		"status=OPEN": "status", "status=new": "status", "status=1": "status",
		"cursor=x": "cursor", "cursor=%20": "cursor", "cursor=' OR 1=1": "cursor",
	} {
		c.T.Log(query)
		values, err := url.ParseQuery(query)
		if err != nil {
			c.T.Fatal(err)
		}
		c.Refused(c.Get(me, "/api/v1/orders?"+values.Encode()), http.StatusBadRequest, field)
	}
}

// keepsEnded: caches rely on it that what has ended stays as it is, whatever program tries to
// change it.
func keepsEnded(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	c.Exec("UPDATE orders SET status = 3, filled = qty WHERE uid = $1", uid)
	for _, change := range []string{
		"UPDATE orders SET status = 1 WHERE uid = $1", "UPDATE orders SET filled = 0 WHERE uid = $1", "DELETE FROM orders WHERE uid = $1",
	} {
		if _, err := c.DB.Exec(context.Background(), change, uid); err == nil {
			c.T.Errorf("%s was let through", change)
		}
	}
	if o := c.Order(me, uid); o.Status != "FILLED" || o.Version != 2 {
		c.T.Fatalf("%+v", o)
	}
}
