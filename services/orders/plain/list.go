package main

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
)

const (
	defaultLimit = 50
	mostLimit    = 500
)

// filter says which orders a list shows: the newest first, and below before.
type filter struct {
	account string
	status  status // 0: any
	before  int64
	limit   int64
}

// page is the answer to a list.
type page struct {
	Orders []order `json:"orders"`
	Next   string  `json:"next,omitempty"`
}

// list answers GET /api/v1/orders.
func (s *server) list(w http.ResponseWriter, r *http.Request, account string) error {
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	f, err := readFilter(params, account)
	if err != nil {
		return err
	}
	orders, err := s.orders(r.Context(), f)
	if err != nil {
		return err
	}
	p := page{Orders: orders}
	if int64(len(orders)) > f.limit {
		p.Orders = orders[:f.limit]
		p.Next = cursor(p.Orders[f.limit-1].UID)
	}
	answer(w, http.StatusOK, p)
	return nil
}

func readFilter(params url.Values, account string) (f filter, err error) {
	if f.account, err = once(params, "account"); err != nil {
		return f, err
	}
	if f.account == "" {
		f.account = account
	}
	if f.account != account {
		return f, refuse(http.StatusForbidden, "the token is not this account's; ask for your own orders")
	}
	word, err := once(params, "status")
	if err != nil {
		return f, err
	}
	if f.status = status(numberOf(statuses, word)); f.status == 0 && word != "" {
		return f, refuseField("status", "give one of %v", statuses)
	}
	if f.limit, err = positive(params, "limit", defaultLimit); err != nil || f.limit > mostLimit {
		return f, refuseField("limit", "give a whole number from 1 to %d", mostLimit)
	}
	text, err := once(params, "cursor")
	if err != nil {
		return f, err
	}
	f.before, err = readCursor(text)
	return f, err
}

// cursor writes where the next page begins so that nobody takes it for a number to reckon with.
func cursor(uid int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(uid)))
}

func readCursor(text string) (before int64, err error) {
	if text == "" {
		return 1<<63 - 1, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) != 8 || int64(binary.BigEndian.Uint64(data)) <= 0 {
		return 0, refuseField("cursor", "give what an earlier answer said under next")
	}
	return int64(binary.BigEndian.Uint64(data)), nil
}
