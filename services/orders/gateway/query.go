package gateway

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/seconds"
	"dyno/services/orders/order"
)

// asked is what GET /api/v1/order asks.
type asked struct {
	UID        int64
	MinVersion int64 // 0: any
}

// parseOrder parses the query of GET /api/v1/order.
func parseOrder(raw string) (q asked, err error) {
	err = eachParameter(raw, func(name, value string) error {
		switch name {
		case "uid":
			return number(name, value, &q.UID)
		case "min_version":
			return number(name, value, &q.MinVersion)
		}
		return nil // others belong to other programs, such as a proxy
	})
	if err == nil && q.UID == 0 {
		err = refusal.Field("uid", "uid is missing; ask for /api/v1/order?uid=NUMBER")
	}
	return q, err
}

// number reads a positive number that is given once.
func number(name, value string, to *int64) error {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case *to != 0:
		return refusal.Field(name, "%s is given twice", name)
	case err != nil || n < 1 || value[0] == '+':
		return refusal.Field(name, "%s is %q, which is no number from 1 to %d", name, shorten(value), math.MaxInt64)
	}
	*to = n
	return nil
}

// Bounds of a page, in orders.
const (
	maxLimit = 500

	defaultLimit = 50 // where a request does not say
)

// parseList parses the query of GET /api/v1/orders, for the caller's own orders only.
func parseList(raw, caller string) (f order.Filter, err error) {
	f.Account = caller
	var limit int64
	err = eachParameter(raw, func(name, value string) error {
		switch name {
		case "account":
			if value != caller {
				return &refusal.Error{Status: http.StatusForbidden, Field: name, Text: "these are another account's orders; leave account out for your own"}
			}
		case "status":
			if f.Status != 0 {
				return refusal.Field(name, "status is given twice")
			}
			var ok bool
			if f.Status, ok = order.ParseStatus(value); !ok {
				return refusal.Field(name, "status is %q; there are NEW, PARTIALLY_FILLED, FILLED and CANCELLED", shorten(value))
			}
		case "limit":
			if err := number(name, value, &limit); err != nil {
				return err
			}
			if limit > maxLimit {
				return refusal.Field(name, "limit is %d; a page has at most %d orders", limit, maxLimit)
			}
		case "cursor":
			if f.Before != 0 {
				return refusal.Field(name, "cursor is given twice")
			}
			var ok bool
			if f.Before, ok = parseCursor(value); !ok {
				return refusal.Field(name, "cursor is none of those that an answer gave as next")
			}
		}
		return nil
	})
	if f.Limit = int(limit); limit == 0 {
		f.Limit = defaultLimit
	}
	return f, err
}

// maxParameters bounds those of one query.
const maxParameters = 32

// eachParameter calls f for each parameter of a query, decoded.
func eachParameter(raw string, f func(name, value string) error) error {
	for n := 0; raw != ""; n++ {
		if n == maxParameters {
			return refusal.Field("", "the query has more than %d parameters", maxParameters)
		}
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return refusal.Field("", "the query is not URL-encoded")
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// cursorOf says where the next page begins; "" if there is none.
func cursorOf(before int64) string {
	if before == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(nil, uint64(before)))
}

func parseCursor(text string) (before int64, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return 0, false
	}
	u, n := binary.Uvarint(data)
	return int64(u), n == len(data) && u > 0 && u <= math.MaxInt64
}

// etagOf names an order's version in one of the two formats.
func etagOf(uid, version int64, msgpack bool) string {
	b := append(make([]byte, 0, 52), '"')
	b = strconv.AppendInt(b, uid, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, version, 10)
	if msgpack {
		b = append(b, "-msgpack"...)
	}
	return string(append(b, '"'))
}

// matches reports whether an If-None-Match names that ETag.
func matches(header, etag string) bool {
	for header != "" {
		var one string
		one, header, _ = strings.Cut(header, ",")
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == etag || one == "*" {
			return true
		}
	}
	return false
}

// maxStale reads how old an answer a caller allows, if at all (RFC 9111, 5.2.1.2).
func maxStale(cacheControl string) (allowed bool, most time.Duration) {
	for cacheControl != "" {
		var one string
		one, cacheControl, _ = strings.Cut(cacheControl, ",")
		name, value, bounded := strings.Cut(strings.TrimSpace(one), "=")
		if !strings.EqualFold(name, "max-stale") {
			continue
		}
		if !bounded {
			return true, seconds.Longest
		}
		most, allowed = seconds.Delta(strings.Trim(value, `"`))
		return allowed, most
	}
	return false, 0
}

// shorten keeps what strangers wrote from filling an answer.
func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
