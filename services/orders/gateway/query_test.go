package gateway

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"testing"
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/order"

	"pgregory.net/rapid"
)

func TestParseOrder(t *testing.T) {
	for raw, want := range map[string]asked{
		"uid=7":                   {UID: 7},
		"uid=9223372036854775807": {UID: math.MaxInt64},
		"min_version=3&uid=7":     {UID: 7, MinVersion: 3},
		"utm=x&uid=%37&other":     {UID: 7},
		"&&uid=7&":                {UID: 7},
	} {
		if got, err := parseOrder(raw); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", raw, got, err, want)
		}
	}
	for raw, field := range map[string]string{
		"": "uid", "uid=": "uid", "uid=0": "uid", "uid=-1": "uid", "uid=+1": "uid", "uid=1.0": "uid", "uid=1e3": "uid", "uid=9223372036854775808": "uid",
		"uid=7&uid=7": "uid", "uid=7&min_version=0": "min_version", "uid=7&min_version=x": "min_version", "UID=7": "uid", "uid=%zz": "", "uid=7 ": "uid",
	} {
		_, err := parseOrder(raw)
		if r := (*refusal.Error)(nil); !errors.As(err, &r) || r.Status != http.StatusBadRequest || r.Field != field {
			t.Errorf("%q: %v, want field %q", raw, err, field)
		}
	}
}

func TestParseList(t *testing.T) {
	for raw, want := range map[string]order.Filter{
		"":                          {Account: "A1", Limit: defaultLimit},
		"account=A1&status=FILLED":  {Account: "A1", Limit: defaultLimit, Status: order.Filled},
		"limit=500":                 {Account: "A1", Limit: 500},
		"cursor=" + cursorOf(12345): {Account: "A1", Limit: defaultLimit, Before: 12345},
	} {
		if got, err := parseList(raw, "A1"); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", raw, got, err, want)
		}
	}
	for raw, want := range map[string]refusal.Error{
		"account=A2":               {Status: 403, Field: "account"},
		"status=OPEN":              {Status: 400, Field: "status"},
		"status=NEW&status=FILLED": {Status: 400, Field: "status"},
		"limit=0":                  {Status: 400, Field: "limit"},
		"limit=501":                {Status: 400, Field: "limit"},
		"limit=5&limit=5":          {Status: 400, Field: "limit"},
		"cursor=8Sc&cursor=8Sc":    {Status: 400, Field: "cursor"},
		"cursor=x":                 {Status: 400, Field: "cursor"},
		"cursor=":                  {Status: 400, Field: "cursor"},
		"cursor=____________":      {Status: 400, Field: "cursor"},
	} {
		_, err := parseList(raw, "A1")
		if r := (*refusal.Error)(nil); !errors.As(err, &r) || r.Status != want.Status || r.Field != want.Field {
			t.Errorf("%q: %v, want %d %s", raw, err, want.Status, want.Field)
		}
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(1, math.MaxInt64).Draw(t, "before")
		if got, ok := parseCursor(cursorOf(want)); !ok || got != want {
			t.Fatalf("%d: %d %v", want, got, ok)
		}
	})
}

func TestMatches(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, `"7-1"`: true, `W/"7-1"`: true, `"7-2"`: false, `"x", "7-1"`: true, "*": true, "7-1": false, `"7-1`: false, ",,": false,
	} {
		if got := matches(header, etagOf(7, 1, false)); got != want {
			t.Errorf("%s: %v", header, got)
		}
	}
}

func TestMaxStale(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": -1, "no-cache": -1, "max-stale": math.MaxInt64, "no-cache, Max-Stale=5": 5 * time.Second, `max-stale="7"`: 7 * time.Second,
		"max-stale=x": -1, "max-stale=-1": -1, "max-stale=99999999999": math.MaxInt64, "max-stale=340282366920938463463374607431768211456": math.MaxInt64, "max-stale=0": 0,
	} {
		allowed, most := maxStale(header)
		if allowed != (want >= 0) || allowed && most != want {
			t.Errorf("%q: %v %v, want %v", header, allowed, most, want)
		}
	}
}

func FuzzQueries(f *testing.F) {
	for _, raw := range []string{"uid=7&min_version=2", "account=A&status=NEW&limit=3&cursor=uWA", "%", "a=b;c=d&&=&", "uid=%00"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if q, err := parseOrder(raw); err == nil {
			values, err := url.ParseQuery(raw)
			if q.UID < 1 || q.MinVersion < 0 || err == nil && len(values["uid"]) != 1 {
				t.Errorf("%q gives %+v", raw, q)
			}
		}
		if l, err := parseList(raw, "A1"); err == nil && (l.Account != "A1" || l.Limit < 1 || l.Limit > maxLimit || l.Before < 0) {
			t.Errorf("%q gives %+v", raw, l)
		}
	})
}
