package history

import (
	"strconv"
	"strings"
	"time"
)

// Row is an order in an answer. Decimal numbers are in units of 1e-8.
type Row struct {
	UID                int64
	Account            string
	Symbol             string
	Side, Status       string
	Price, Qty, Filled int64
	Version            int64
	Updated            time.Time
}

// Key identifies a row of a soak and determines its contents.
type Key uint64

// EndlessKey returns the i-th key of the orders that change for ever.
func EndlessKey(i int) Key { return Key(i)<<1 | 1 }

// TailKey returns the i-th key of the orders that are filled or cancelled after some changes.
func TailKey(i int) Key { return Key(i) << 1 }

// Endless reports whether the order changes for ever.
func (k Key) Endless() bool { return k&1 == 1 }

// Account returns the order's owner, for a number of accounts.
func (k Key) Account(accounts int) string {
	return "soak-" + strconv.FormatUint(uint64(k>>1)%uint64(accounts), 10)
}

// Last returns the version in which the order is filled or cancelled; 0 means never.
func (k Key) Last() int64 {
	if k.Endless() {
		return 0
	}
	return 2 + int64(mix(uint64(k))%12) // so that there are always some of both kinds
}

// Derive returns the contents of a version, except UID, Account and Updated.
func (k Key) Derive(version int64) Row { return k.derive(version, 0) }

// Ghost returns the contents that a rolled back transaction writes for a version: no client may
// ever see it.
func (k Key) Ghost(version int64) Row { return k.derive(version, 1) }

func (k Key) derive(version int64, salt uint64) Row {
	h := mix(mix(uint64(k)*4+salt) + uint64(version))
	r := Row{Symbol: k.symbol(h), Side: "BUY", Status: "PARTIALLY_FILLED", Version: version}
	if h>>8&1 == 1 {
		r.Side = "SELL"
	}
	step := int64(1) // the smallest decimal step: few and many of them
	for range h >> 9 % 9 {
		step *= 10
	}
	r.Price = (1 + int64(h>>13%9973)) * step
	r.Qty = (2 + int64(h>>27%9967)) * step
	r.Filled = r.Qty / 2
	switch {
	case version == 1:
		r.Status, r.Filled = "NEW", 0
	case version == k.Last() && k>>1&1 == 0:
		r.Status, r.Filled = "FILLED", r.Qty
	case version == k.Last():
		r.Status = "CANCELLED"
	}
	return r
}

const base = 36

func (k Key) symbol(h uint64) string {
	return strings.ToUpper("K" + strconv.FormatUint(uint64(k), base) + "-" + strconv.FormatUint(h>>41, base))
}

// keyOf parses the key from a symbol.
func keyOf(symbol string) (Key, bool) {
	text, _, ok := strings.Cut(strings.TrimPrefix(symbol, "K"), "-")
	k, err := strconv.ParseUint(text, base, 64)
	return Key(k), ok && err == nil
}

// holds reports whether the row has the derived contents.
func (r *Row) holds(d Row) bool {
	return r.Symbol == d.Symbol && r.Side == d.Side && r.Status == d.Status && r.Version == d.Version &&
		r.Price == d.Price && r.Qty == d.Qty && r.Filled == d.Filled
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014): close numbers have unrelated
// hashes.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
