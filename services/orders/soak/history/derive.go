package history

import (
	"strconv"
	"strings"
	"time"
)

// Row is an order as an answer tells it. Numbers with decimals are in units of 1e-8.
type Row struct {
	UID                int64
	Account            string
	Symbol             string
	Side, Status       string
	Price, Qty, Filled int64
	Version            int64
	Updated            time.Time
}

// Key is what the rows of a soak are told apart by; their contents follow from it.
type Key uint64

// EndlessKey returns the i-th key of the orders that are changed for ever, TailKey that of those which are filled
// or cancelled after some changes.
func EndlessKey(i int) Key { return Key(i)<<1 | 1 }

// TailKey is the other half of the keys.
func TailKey(i int) Key { return Key(i) << 1 }

// Endless reports whether the order is changed for ever.
func (k Key) Endless() bool { return k&1 == 1 }

// Account returns whose it is, of so many accounts.
func (k Key) Account(accounts int) string {
	return "soak-" + strconv.FormatUint(uint64(k>>1)%uint64(accounts), 10)
}

// Last returns the version in which the order is filled or cancelled; 0: it never is.
func (k Key) Last() int64 {
	if k.Endless() {
		return 0
	}
	return 2 + int64(mix(uint64(k))%12) // so that there are always some of either kind
}

// Derive returns what the row holds in a version, but for UID, Account and Updated.
func (k Key) Derive(version int64) Row { return k.derive(version, 0) }

// Ghost returns what a transaction that is rolled back writes for a version: nobody may ever see it.
func (k Key) Ghost(version int64) Row { return k.derive(version, 1) }

func (k Key) derive(version int64, salt uint64) Row {
	h := mix(mix(uint64(k)*4+salt) + uint64(version))
	r := Row{Symbol: k.symbol(h), Side: "BUY", Status: "PARTIALLY_FILLED", Version: version}
	if h>>8&1 == 1 {
		r.Side = "SELL"
	}
	step := int64(1) // the smallest decimal: few and many of them
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

// keyOf reads the key out of a symbol.
func keyOf(symbol string) (Key, bool) {
	text, _, ok := strings.Cut(strings.TrimPrefix(symbol, "K"), "-")
	k, err := strconv.ParseUint(text, base, 64)
	return Key(k), ok && err == nil
}

// holds reports whether the row is what was derived.
func (r *Row) holds(d Row) bool {
	return r.Symbol == d.Symbol && r.Side == d.Side && r.Status == d.Status && r.Version == d.Version &&
		r.Price == d.Price && r.Qty == d.Qty && r.Filled == d.Filled
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014): numbers that are close give hashes that are not.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
