package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// order is a row, as answers show it.
type order struct {
	UID       int64   `json:"uid"`
	Account   string  `json:"account"`
	Symbol    string  `json:"symbol"`
	Side      side    `json:"side"`
	Price     decimal `json:"price"`
	Qty       decimal `json:"qty"`
	Filled    decimal `json:"filled"`
	Status    status  `json:"status"`
	Version   int64   `json:"version"`
	UpdatedAt string  `json:"updated_at"`
}

// columns are what scan reads.
const columns = "uid, account, symbol, side, price, qty, filled, status, version, updated_at"

func (o *order) scan(row interface{ Scan(...any) error }) error {
	var updated time.Time
	err := row.Scan(&o.UID, &o.Account, &o.Symbol, &o.Side, &o.Price, &o.Qty, &o.Filled, &o.Status, &o.Version, &updated)
	o.UpdatedAt = updated.UTC().Format("2006-01-02T15:04:05.000000Z") // as PostgreSQL keeps it
	return err
}

func (o *order) etag() string { return fmt.Sprintf(`"%d-%d"`, o.UID, o.Version) }

// unchanged reports whether the client has this version.
func (o *order) unchanged(r *http.Request) bool {
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == "*" || tag == o.etag() {
			return true
		}
	}
	return false
}

// side and status are numbers in the database and words elsewhere. The first word is number 1.
type (
	side   int16
	status int16
)

var (
	sides    = []string{"BUY", "SELL", "PAY"}
	statuses = []string{"NEW", "PARTIALLY_FILLED", "FILLED", "CANCELLED"}
)

func (s side) MarshalText() ([]byte, error)   { return word(sides, int(s)), nil }
func (s status) MarshalText() ([]byte, error) { return word(statuses, int(s)), nil }

func word(words []string, number int) []byte {
	if number < 1 || number > len(words) {
		return []byte("UNKNOWN")
	}
	return []byte(words[number-1])
}

// numberOf reads a word; 0: it is unknown.
func numberOf(words []string, text string) int { return slices.Index(words, text) + 1 }

// decimal is a number with eight decimals, in units of 10^-8.
type decimal int64

const (
	decimals = 8
	one      = 100_000_000
)

func (d decimal) MarshalText() ([]byte, error) {
	text := fmt.Sprintf("%d.%08d", d/one, d%one) // none is negative
	return []byte(strings.TrimRight(strings.TrimRight(text, "0"), ".")), nil
}

// parseDecimal reads digits with at most eight decimals.
func parseDecimal(text string) (decimal, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if dotted && fraction == "" {
		return 0, false
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
	return decimal(n), err == nil && whole != ""
}
