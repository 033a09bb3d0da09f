package message

import (
	"math"
	"time"

	"dyno/services/orders/order"
)

// fixOrder holds the fields used from a message.
type fixOrder struct {
	clientOrderID, account, symbol, side, kind, price, qty string
}

// take checks and stores the used fields.
func (r *fixReader) take(tag int, value []byte) error {
	o := &r.order
	switch tag {
	case 35:
		if string(value) != "D" {
			return blame(fixName(tag), "%.40q is not D; only NewOrderSingle is taken", value)
		}
	case 34:
		if n, ok := number(value, math.MaxInt32); !ok || n == 0 {
			return blame(fixName(tag), "%.40q is no number above 0", value)
		}
	case 43, 97:
		if string(value) != "Y" && string(value) != "N" {
			return blame(fixName(tag), "%.40q is neither Y nor N", value)
		}
	case 52, 60, 122:
		if !utcTimestamp(string(value)) {
			return blame(fixName(tag), "%.40q is no UTC time such as 20260102-15:04:05.678", value)
		}
	case 59:
		switch string(value) {
		case "0", "1", "3", "4":
		default:
			return blame(fixName(tag), "%.40q is none of 0 (day), 1 (good till cancel), 3 (immediate or cancel), 4 (fill or kill)", value)
		}
	case 11:
		o.clientOrderID = string(value)
	case 1:
		o.account = string(value)
	case 55:
		o.symbol = string(value)
	case 54:
		o.side = string(value)
	case 40:
		o.kind = string(value)
	case 44:
		o.price = string(value)
	case 38:
		o.qty = string(value)
	}
	return nil
}

// utcTimestamp checks YYYYMMDD-HH:MM:SS with or without 3, 6 or 9 decimals. A leap second is valid.
func utcTimestamp(text string) bool {
	const layout = "20060102-15:04:05"
	if len(text) < len(layout) || text[11] != ':' {
		return false
	}
	whole, fraction := text[:len(layout)], text[len(layout):]
	switch len(fraction) {
	case 0:
	case 4, 7, 10:
		if _, ok := number([]byte(fraction[1:]), 999_999_999); !ok || fraction[0] != '.' {
			return false
		}
	default:
		return false
	}
	if whole[15:] == "60" {
		whole = whole[:15] + "59"
	}
	_, err := time.Parse(layout, whole)
	return err == nil
}

// complete checks that no required field is missing.
func (r *fixReader) complete() error {
	for _, tag := range [...]int{35, 49, 56, 34, 52, 11, 55, 54, 60, 38, 40} {
		if !r.has(tag) {
			return blame(fixName(tag), "missing; a NewOrderSingle needs one")
		}
	}
	for i, g := range r.groups {
		if g.says != g.has {
			return blame(fixName(fixGroups[i].count), "says %d, there are %d; each begins with %s", g.says, g.has, fixName(fixGroups[i].first))
		}
	}
	return nil
}

func (o *fixOrder) submission() (s order.Submission, err error) {
	s = order.Submission{Kind: order.FIX, ClientOrderID: o.clientOrderID, Account: o.account, Symbol: o.symbol}
	if err := checkClientOrderID(fixName(11), s.ClientOrderID); err != nil {
		return s, err
	}
	if s.Account != "" {
		if err := checkAccount(fixName(1), s.Account); err != nil {
			return s, err
		}
	}
	if err := checkSymbol(fixName(55), s.Symbol); err != nil {
		return s, err
	}
	switch o.side {
	case "1":
		s.Side = order.Buy
	case "2":
		s.Side = order.Sell
	default:
		return s, blame(fixName(54), "%.40q is neither 1 (buy) nor 2 (sell)", o.side)
	}
	if s.Qty, err = positive(fixName(38), o.qty); err != nil {
		return s, err
	}
	s.Price, err = o.limit()
	return s, err
}

func (o *fixOrder) limit() (order.Decimal, error) {
	switch {
	case o.kind != "1" && o.kind != "2":
		return 0, blame(fixName(40), "%.40q is neither 1 (market) nor 2 (limit)", o.kind)
	case o.kind == "1" && o.price != "":
		return 0, blame(fixName(44), "%v", errMarketPrice)
	case o.kind == "1":
		return 0, nil
	case o.price == "":
		return 0, blame(fixName(44), "missing; a limit order (40=2) needs one")
	}
	return positive(fixName(44), o.price)
}
