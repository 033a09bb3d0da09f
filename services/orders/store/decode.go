package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"dyno/services/orders/order"
)

// columnCount is how many columns an order has (see columns).
const columnCount = 10

// errRow is of a database that another schema has come to.
var errRow = errors.New("a row of orders does not have the columns, sizes and formats that this version knows; " +
	"restart the gateway, and compare its version with the database's schema (table migrations)")

// errUnasked is of a batch with a row that is not for any of its callers, or not where the order of
// the rows puts it.
func errUnasked(uid int64) error {
	return fmt.Errorf("the database sent order %d, which it was not asked for there", uid)
}

// PostgreSQL counts microseconds from 2000-01-01 on.
const (
	epochMicros = 946_684_800_000_000
	// Beyond these there are infinity and years that JSON cannot represent.
	earliest, latest = -epochMicros - 62_135_596_800_000_000, 252_455_616_000_000_000
)

// uidOf reads the first column.
func uidOf(values [][]byte) (int64, error) {
	if len(values) < columnCount || len(values[0]) != 8 {
		return 0, errRow
	}
	return int64(binary.BigEndian.Uint64(values[0])), nil
}

// decode reads a row in the binary format. Its texts share one allocation; nothing of values is
// kept.
func decode(o *order.Order, values [][]byte) error {
	if len(values) < columnCount {
		return errRow
	}
	v := (*[columnCount][]byte)(values)
	if len(v[0]) != 8 || len(v[3]) != 2 || len(v[4]) != 2 || len(v[5]) != 8 || len(v[6]) != 8 || len(v[7]) != 8 || len(v[8]) != 8 || len(v[9]) != 8 {
		return errRow
	}
	at := int64(binary.BigEndian.Uint64(v[9]))
	if at < earliest || at >= latest {
		return errRow
	}
	var room [128]byte // an account has up to 64 bytes, a symbol 32
	texts := string(append(append(room[:0], v[1]...), v[2]...))
	o.UID = int64(binary.BigEndian.Uint64(v[0]))
	o.Account = texts[:len(v[1])]
	o.Symbol = texts[len(v[1]):]
	o.Side = order.Side(binary.BigEndian.Uint16(v[3]))
	o.Status = order.Status(binary.BigEndian.Uint16(v[4]))
	o.Price = order.Decimal(binary.BigEndian.Uint64(v[5]))
	o.Qty = order.Decimal(binary.BigEndian.Uint64(v[6]))
	o.Filled = order.Decimal(binary.BigEndian.Uint64(v[7]))
	o.Version = int64(binary.BigEndian.Uint64(v[8]))
	o.UpdatedAt = time.UnixMicro(at + epochMicros).UTC()
	return nil
}
