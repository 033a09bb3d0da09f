package history

import (
	"fmt"
	"time"
)

// Wanted is a request for a page of orders.
type Wanted struct {
	Account string // caller, and owner of the orders
	Status  string // "" means any
	Before  int64  // last uid of the previous page; 0 means from the newest on
	Limit   int
}

// Page is the answer.
type Page struct {
	Rows []Row
	More bool // it has a cursor to the next page
}

// List is a call for a page in progress.
type List struct {
	Wanted
	there map[int64]int64 // orders that certainly exist, with their floors
	order []*row          // the same orders, uids descending
	seen  map[int64]int64
	began time.Duration
}

// BeginList begins a call, before the request is sent.
func (r *Reader) BeginList(w Wanted) *List {
	r.h.mu.RLock()
	owned := r.h.owned[w.Account]
	l := &List{Wanted: w, there: make(map[int64]int64, len(owned)), seen: map[int64]int64{}, began: r.h.Now()}
	for i := len(owned) - 1; i >= 0; i-- {
		if w.Before == 0 || owned[i].uid < w.Before {
			l.order = append(l.order, owned[i])
		}
	}
	r.h.mu.RUnlock()
	for _, o := range l.order {
		l.there[o.uid], _ = o.floor()
		l.seen[o.uid] = r.seen[o.uid]
	}
	return l
}

// EndList judges a page after all of it has arrived, and reports whether it is correct.
func (r *Reader) EndList(l *List, p *Page) bool {
	kind, why := r.judgePage(l, p)
	if kind != "" {
		r.h.Break(kind, "%s lists orders as %s at %v, status %q before %d, %s", r.name, l.Account, l.began, l.Status, l.Before, why)
		return false
	}
	r.h.count(func(v *Verdict) {
		v.Lists++
		v.Listed += len(p.Rows)
	})
	return true
}

func (r *Reader) judgePage(l *List, p *Page) (Kind, string) {
	if len(p.Rows) > l.Limit {
		return Disordered, fmt.Sprintf("and gets %d although at most %d were requested", len(p.Rows), l.Limit)
	}
	if p.More && len(p.Rows) == 0 {
		return Disordered, "and gets none, and a cursor"
	}
	before := l.Before
	listed := make(map[int64]bool, len(p.Rows))
	for i := range p.Rows {
		row := &p.Rows[i]
		if before != 0 && row.UID >= before {
			return Disordered, fmt.Sprintf("and gets order %d after %d", row.UID, before)
		}
		before = row.UID
		listed[row.UID] = true
		if kind, why := r.judgeListed(l, row); kind != "" {
			return kind, fmt.Sprintf("and order %d %s: %+v", row.UID, why, *row)
		}
	}
	return l.judgeWhole(p, listed)
}

func (r *Reader) judgeListed(l *List, row *Row) (Kind, string) {
	if row.Account != l.Account {
		return Foreign, "is of " + row.Account
	}
	if l.Status != "" && row.Status != l.Status {
		return Disordered, "is " + row.Status
	}
	if kind, why := r.h.judgeContent(row); kind != "" {
		return kind, why
	}
	read := Read{Ask: Ask{UID: row.UID}, floor: l.there[row.UID], ackedAt: l.began, seen: l.seen[row.UID], began: l.began}
	return r.judgeVersion(&read, row.Version)
}

// judgeWhole checks that no order is missing from the range that the page covers.
func (l *List) judgeWhole(p *Page, listed map[int64]bool) (Kind, string) {
	lowest := int64(0)
	if p.More {
		lowest = p.Rows[len(p.Rows)-1].UID
	}
	for _, o := range l.order {
		if o.uid < lowest {
			break
		}
		if !listed[o.uid] && l.certainlyHasStatus(o) {
			return Missing, fmt.Sprintf("and order %d, version %d, is not among the %d", o.uid, l.there[o.uid], len(p.Rows))
		}
	}
	return "", ""
}

// certainlyHasStatus reports whether the order certainly had the status since the call began: no
// commit of another version was begun.
func (l *List) certainlyHasStatus(o *row) bool {
	floor := l.there[o.uid]
	return l.Status == "" || o.key.Derive(floor).Status == l.Status && o.ceiling() == floor
}
