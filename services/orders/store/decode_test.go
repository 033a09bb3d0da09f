package store

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"dyno/services/orders/order"
)

// row is a row as PostgreSQL sends it.
func row(o order.Order) [][]byte {
	i64 := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	i16 := func(v uint8) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
	return [][]byte{
		i64(o.UID), []byte(o.Account), []byte(o.Symbol), i16(uint8(o.Side)), i16(uint8(o.Status)), i64(int64(o.Price)), i64(int64(o.Qty)),
		i64(int64(o.Filled)), i64(o.Version), i64(o.UpdatedAt.UnixMicro() - epochMicros),
	}
}

func TestDecodeAllocates(t *testing.T) {
	want := order.Order{UID: 1, Account: "A1", Symbol: "ACME", Side: order.Buy, Status: order.New, Qty: 1, Version: 1, UpdatedAt: time.Unix(1, 0).UTC()}
	values := row(want)
	var got order.Order
	if n := testing.AllocsPerRun(100, func() {
		if err := decode(&got, values); err != nil {
			t.Fatal(err)
		}
	}); n != 1 {
		t.Errorf("%v allocations for a row", n)
	}
	if got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// What comes is decoded to what makes the same bytes, or refused.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x08\x02\x04\x02\x02\x08\x08\x08\x08\x0812345678A1ACME00001234567812345678123456781234567812345678"))
	f.Add([]byte{10: 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var values [][]byte // the first ten bytes are lengths; 255 is NULL
		if len(data) > columnCount {
			rest := data[columnCount:]
			for _, n := range data[:columnCount] {
				if n == 255 {
					values = append(values, nil)
					continue
				}
				take := min(int(n), len(rest))
				values = append(values, rest[:take])
				rest = rest[take:]
			}
		}
		var o order.Order
		if decode(&o, values) != nil {
			return
		}
		if _, err := o.UpdatedAt.MarshalText(); err != nil {
			t.Errorf("%v", err)
		}
		if o.Side <= order.Pay && o.Status <= order.Cancelled && values[3][0] == 0 && values[4][0] == 0 {
			if again := row(o); !slices.EqualFunc(values, again, slices.Equal) {
				t.Errorf("%x became %+v, which is %x", values, o, again)
			}
		}
	})
}
