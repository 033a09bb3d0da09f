package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dyno/services/orders/soak/history"
)

// lister reads the orders of one account after the other, page by page.
type lister struct {
	*run
	client int
	random *rand.Rand
	seen   *history.Reader
	wanted history.Wanted // in the current walk
	served time.Time
}

func newLister(r *run, client int) *lister {
	l := &lister{run: r, client: client, random: rand.New(rand.NewPCG(r.Seed, uint64(client))),
		seen: r.history.Reader(fmt.Sprintf("lister %d", client)), served: time.Now()}
	l.wanted = l.choose()
	return l
}

// again is how often the same walk is made, on average, before another: pages that a cache may keep
// are requested again.
const again = 4

func (l *lister) work(ctx context.Context) error {
	for !l.done() && ctx.Err() == nil {
		if l.random.IntN(again) == 0 {
			l.wanted = l.choose()
		}
		l.walk(ctx, l.wanted)
		if time.Since(l.served) > timeout {
			return fmt.Errorf("no list was answered for %v", timeout)
		}
		if err := pause(ctx, time.Duration(2+l.random.IntN(20))*time.Millisecond); err != nil {
			return nil
		}
	}
	return nil
}

func (l *lister) choose() history.Wanted {
	return history.Wanted{
		Account: history.TailKey(l.random.IntN(l.Accounts)).Account(l.Accounts),
		Status:  statuses[l.random.IntN(len(statuses))],
		Limit:   []int{3, 50, 500}[l.random.IntN(3)],
	}
}

// maxPages limits a walk: pages matter, not reaching the end.
const maxPages = 8

// walk requests the pages of one list.
func (l *lister) walk(ctx context.Context, w history.Wanted) {
	cursor := ""
	for range maxPages {
		began := time.Now()
		begun := l.seen.BeginList(w)
		page, next, err := l.page(ctx, w, cursor)
		if err != nil {
			if ctx.Err() == nil {
				l.broken.Add(1)
			}
			return
		}
		if page == nil {
			return
		}
		l.served = time.Now()
		l.outage.served(l.client, began)
		if !l.seen.EndList(begun, page) || next == "" {
			return
		}
		w.Before, cursor = page.Rows[len(page.Rows)-1].UID, next
	}
}

// page requests one page; nil means that none was available.
func (l *lister) page(ctx context.Context, w history.Wanted, cursor string) (*history.Page, string, error) {
	query := url.Values{"account": {w.Account}, "limit": {strconv.Itoa(w.Limit)}}
	if w.Status != "" {
		query.Set("status", w.Status)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	status, answer, err := l.call(ctx, http.MethodGet, "/api/v1/orders?"+query.Encode(), w.Account, nil)
	if err != nil {
		return nil, "", err
	}
	if status == http.StatusServiceUnavailable {
		l.history.Unavailable()
		return nil, "", nil
	}
	if status != http.StatusOK {
		l.history.Break(history.Unexpected, "a list of %s, status %q, is answered with status %d: %.300q", w.Account, w.Status, status, answer)
		return nil, "", nil
	}
	page, next, err := parsePage(answer)
	if err != nil {
		l.history.Break(history.Garbled, "a list of %s: %v: %.300q", w.Account, err, answer)
		return nil, "", nil
	}
	return page, next, nil
}

func parsePage(answer []byte) (*history.Page, string, error) {
	var got struct {
		Orders []json.RawMessage
		Next   string
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, "", err
	}
	page := &history.Page{More: got.Next != ""}
	for _, text := range got.Orders {
		row, since, err := parseOrder(text)
		if err != nil || since {
			return nil, "", errOrder
		}
		page.Rows = append(page.Rows, row)
	}
	return page, got.Next, nil
}
