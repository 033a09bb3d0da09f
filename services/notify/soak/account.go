package soak

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"time"

	"dyno/services/notify/soak/history"
)

// views asks for all subscriptions, by the names that the receiver knows them by.
func (r *run) views(ctx context.Context) (map[string]view, error) {
	out := map[string]view{}
	for after := ""; ; {
		var page struct {
			Subscriptions []view
			Next          string
		}
		if err := r.client.get(ctx, "/v1/subscriptions?limit=1000&after="+url.QueryEscape(after), &page); err != nil {
			return nil, err
		}
		for _, v := range page.Subscriptions {
			out[path.Base(v.URL)] = v
		}
		if after = page.Next; after == "" {
			return out, nil
		}
	}
}

// list writes down what subscriptions there are.
func (r *run) list(ctx context.Context) error {
	l := history.Listing{Began: r.history.Now(), Subscriptions: map[string]history.Definition{}}
	views, err := r.views(ctx)
	if err != nil {
		return err
	}
	l.Answered = r.history.Now()
	for name, v := range views {
		l.Subscriptions[name] = history.Definition{Types: v.Types, Batch: v.Batch, Concurrency: v.Concurrency}
	}
	r.history.Listed(l)
	return nil
}

// row is a row of the dispatcher's statistics.
type row struct {
	ID string
	history.Count
}

type statistics struct {
	row
	Subscriptions []row
}

var errStuck = errors.New("what is pending does not get less")

// quiet waits until nothing is pending, for as long as that gets less, and takes the account.
func (r *run) quiet(ctx context.Context) error {
	var s statistics
	least, since := int64(-1), time.Now()
	for {
		s = statistics{}
		if err := r.client.get(ctx, "/v1/stats?limit=1000", &s); err != nil {
			return err
		}
		if s.Pending == 0 {
			return r.account(ctx, s)
		}
		if least < 0 || s.Pending < least {
			least, since = s.Pending, time.Now()
		} else if time.Since(since) > patience {
			return fmt.Errorf("%w: %d for %v, in %+v", errStuck, least, patience, s)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (r *run) account(ctx context.Context, s statistics) error {
	views, err := r.views(ctx)
	if err != nil {
		return err
	}
	a := &history.Account{Total: s.Count, Subscriptions: map[string]history.Count{}, Dead: map[string][]string{}}
	names := map[string]string{}
	for name, v := range views {
		names[v.ID] = name
		if a.Dead[name], err = r.dead(ctx, v.ID); err != nil {
			return err
		}
	}
	for _, row := range s.Subscriptions {
		if name, there := names[row.ID]; there { // not those which were deleted
			a.Subscriptions[name] = row.Count
		}
	}
	r.history.Final = a
	return nil
}

// dead asks for the ids of a subscription's dead letters.
func (r *run) dead(ctx context.Context, id string) (ids []string, err error) {
	for after := ""; ; {
		var page struct {
			Dead []struct {
				Notice struct{ ID string }
			}
			Next string
		}
		if err := r.client.get(ctx, fmt.Sprintf("/v1/dead?subscription=%s&limit=1000&after=%s", url.QueryEscape(id), url.QueryEscape(after)), &page); err != nil {
			return nil, err
		}
		for _, d := range page.Dead {
			ids = append(ids, d.Notice.ID)
		}
		if after = page.Next; after == "" {
			return ids, nil
		}
	}
}
