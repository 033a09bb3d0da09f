package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// comparePages compares a page of an account's orders, newest first, with one read later. Orders
// are never deleted: new ones appear at the front, and push others off a full page. With a status
// filter they appear and disappear as they change, and then only equal sequences are comparable.
func comparePages(stable, second map[string]any, byStatus bool) (verdict, string) {
	a, okA := rows(stable["orders"])
	b, okB := rows(second["orders"])
	if !okA {
		return incomparable, "the stable version's orders have no numbers"
	}
	if !okB {
		return different, "the second version's orders have no numbers"
	}
	fresh := newer(a, b)
	rest := b[fresh:]
	changed := fresh > 0
	if byStatus && !slices.EqualFunc(a, b, func(a, b row) bool { return a.uid == b.uid }) {
		return incomparable, "orders were added or removed"
	}
	for i, row := range rest {
		switch {
		case i >= len(a):
			return different, fmt.Sprintf("order %d is only in the second", row.uid)
		case row.uid != a[i].uid:
			return different, fmt.Sprintf("orders[%d]: uid %d and %d", i, a[i].uid, row.uid)
		case row.version != a[i].version:
			changed = true
		default:
			if v, what := judgeValues(fmt.Sprintf("orders[%d]", i), a[i].value, row.value); v != same {
				return v, what
			}
		}
	}
	if len(rest) < len(a) && (fresh == 0 || len(b) < len(a)) {
		return different, fmt.Sprintf("order %d is only in the first", a[len(rest)].uid)
	}
	if changed {
		return incomparable, "orders were added or changed; the unchanged ones in both are the same"
	}
	return judgeValues("", without(stable), without(second))
}

// row is an order on a page.
type row struct {
	uid, version int64
	value        any
}

func rows(orders any) ([]row, bool) {
	list, ok := orders.([]any)
	out := make([]row, 0, len(list))
	for _, v := range list {
		o, _ := v.(map[string]any)
		uid, okUID := integer(o["uid"])
		version, okVersion := integer(o["version"])
		if !okUID || !okVersion {
			return nil, false
		}
		out = append(out, row{uid, version, v})
	}
	return out, ok
}

func integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	i, err := n.Int64()
	return i, ok && err == nil
}

// newer counts the rows at the front of b that are newer than all of a.
func newer(a, b []row) (n int) {
	for n < len(b) && (len(a) == 0 || b[n].uid > a[0].uid) {
		n++
	}
	return n
}

// without returns a page's members other than its orders.
func without(page map[string]any) map[string]any {
	rest := maps.Clone(page)
	delete(rest, "orders")
	return rest
}
