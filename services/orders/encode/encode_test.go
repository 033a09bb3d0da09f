package encode

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/vmihailenco/msgpack/v5"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dyno/services/orders/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var acme = order.Order{
	UID: 1, Account: "A1", Symbol: "ACME", Side: order.Buy, Status: order.New,
	Price: 101_25000000, Qty: 100_00000000, Version: 1,
	UpdatedAt: time.Date(2026, 1, 2, 4, 4, 5, 678_901_999, time.FixedZone("", 3600)),
}

// encoders returns every JSON encoder by name.
func encoders(t testing.TB) map[string]Encoder {
	all := map[string]Encoder{}
	for name := range jsons {
		e, err := JSON(name)
		if err != nil || e.ContentType() != "application/json" {
			t.Fatalf("%s: %v %v", name, e, err)
		}
		all[name] = e
	}
	return all
}

func TestJSON(t *testing.T) {
	acme := `{"uid":1,"account":"A1","symbol":"ACME","side":"BUY","price":"101.25","qty":"100","filled":"0","status":"NEW","version":1,"updated_at":"2026-01-02T03:04:05.678901Z"`
	stale := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	for name, e := range encoders(t) {
		for _, c := range []struct {
			got  func(dst []byte) []byte
			want string
		}{
			{func(dst []byte) []byte { return e.Order(dst, one(), time.Time{}) }, acme + "}"},
			{func(dst []byte) []byte { return e.Order(dst, one(), stale) }, acme + `,"stale_since":"2026-01-02T03:04:06.000000Z"}`},
			{func(dst []byte) []byte { return e.Page(dst, &order.Page{}, "") }, `{"orders":[]}`},
			{func(dst []byte) []byte { return e.Page(dst, &order.Page{Orders: []order.Order{*one(), *one()}}, "c<d") }, `{"orders":[` + acme + "}," + acme + `}],"next":"c<d"}`},
			{func(dst []byte) []byte { return e.Receipt(dst, &order.Receipt{Order: *one()}, `a"b`) }, `{"uid":1,"client_order_id":"a\"b","status":"NEW","version":1}`},
			{func(dst []byte) []byte { return e.Receipt(dst, &order.Receipt{Order: *one(), Duplicate: true}, "1") }, `{"uid":1,"client_order_id":"1","status":"NEW","version":1,"duplicate":true}`},
			{func(dst []byte) []byte { return e.Error(dst, "no", "") }, `{"error":"no"}`},
			{func(dst []byte) []byte {
				return e.Error(dst, "a\\\x00\x1f\x7f\b\f\n\r\t<&>\u2028\u2029é\xff\xfe\ufffd😀", "f")
			},
				`{"error":"a\\\u0000\u001f` + "\x7f" + `\b\f\n\r\t<&>\u2028\u2029é` + "\ufffd\ufffd\ufffd😀" + `","field":"f"}`},
		} {
			if got := string(c.got([]byte("before "))); got != "before "+c.want {
				t.Errorf("%s:\n %s\nwant\n before %s", name, got, c.want)
			}
		}
	}
}

func one() *order.Order { o := acme; return &o }

func TestJSONUnknown(t *testing.T) {
	if e, err := JSON("v3"); e != nil || err == nil || !strings.Contains(err.Error(), "append, std") {
		t.Errorf("%v %v", e, err)
	}
}

// drawn draws any order, including ones that the gateway never makes.
func drawn(t *rapid.T) *order.Order {
	number := rapid.Int64()
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	return &order.Order{
		UID: number.Draw(t, "uid"), Account: text.Draw(t, "account"), Symbol: text.Draw(t, "symbol"),
		Side: order.Side(rapid.Uint8Range(0, 5).Draw(t, "side")), Status: order.Status(rapid.Uint8Range(0, 6).Draw(t, "status")),
		Price: order.Decimal(number.Draw(t, "price")), Qty: order.Decimal(number.Draw(t, "qty")), Filled: order.Decimal(number.Draw(t, "filled")),
		Version:   number.Draw(t, "version"),
		UpdatedAt: time.Unix(rapid.Int64Range(0, 253_402_300_799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")), // up to the year 9999
	}
}

// answers returns one answer of each kind from one encoder.
func answers(e Encoder, o *order.Order, at time.Time, text string) [5][]byte {
	return [5][]byte{
		e.Order(nil, o, time.Time{}),
		e.Order(nil, o, at),
		e.Page(nil, &order.Page{Orders: []order.Order{*o, *o}}, text),
		e.Receipt(nil, &order.Receipt{Order: *o, Duplicate: o.UID%2 == 0}, text),
		e.Error(nil, text, o.Symbol),
	}
}

// Every JSON encoder writes the same bytes, both JSON packages read them, and msgpack has the same
// values.
func TestEncodersAgree(t *testing.T) {
	all := encoders(t)
	rapid.Check(t, func(t *rapid.T) {
		o := drawn(t)
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		want := answers(all["std"], o, o.UpdatedAt.Add(time.Second), text)
		for name, e := range all {
			for i, got := range answers(e, o, o.UpdatedAt.Add(time.Second), text) {
				if string(got) != string(want[i]) {
					t.Fatalf("%s:\n%q\nstd:\n%q", name, got, want[i])
				}
			}
		}
		for i, packed := range answers(Msgpack(), o, o.UpdatedAt.Add(time.Second), text) {
			var std, v2, unpacked any
			if err := json.Unmarshal(want[i], &std); err != nil {
				t.Fatalf("%q: %v", want[i], err)
			}
			if err := jsonv2.Unmarshal(want[i], &v2); err != nil {
				t.Fatalf("%q: %v", want[i], err)
			}
			if err := msgpack.Unmarshal(packed, &unpacked); err != nil {
				t.Fatalf("%x: %v", packed, err)
			}
			if unpacked = floats(unpacked); !reflect.DeepEqual(std, v2) || !reflect.DeepEqual(std, unpacked) {
				t.Fatalf("std %v\nv2 %v\nmsgpack %v", std, v2, unpacked)
			}
		}
	})
}

// floats converts every integer to float64, as encoding/json does.
func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = floats(v[key])
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	}
	if n := reflect.ValueOf(v); n.CanInt() {
		return float64(n.Int())
	} else if n.CanUint() {
		return float64(n.Uint())
	}
	return v
}

func TestMsgpack(t *testing.T) {
	const want = "\x8a\xa3uid\x01\xa7account\xa2A1\xa6symbol\xa4ACME\xa4side\xa3BUY\xa5price\xa6101.25\xa3qty\xa3100\xa6filled\xa10" +
		"\xa6status\xa3NEW\xa7version\x01\xaaupdated_at\xbb2026-01-02T03:04:05.678901Z"
	if got := string(Msgpack().Order(nil, one(), time.Time{})); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	large := one()
	large.UID = math.MaxInt64
	if got := string(Msgpack().Order([]byte("before"), large, time.Time{})); !strings.HasPrefix(got, "before\x8a\xa3uid\xcf\x7f\xff\xff\xff\xff\xff\xff\xff") {
		t.Errorf("%q", got)
	}
	if got := Msgpack().ContentType(); got != "application/msgpack" {
		t.Error(got)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	e, _ := JSON("append")
	dst := make([]byte, 0, 4096)
	page := &order.Page{Orders: []order.Order{acme, acme, acme}}
	receipt := &order.Receipt{Order: acme, Duplicate: true}
	if n := testing.AllocsPerRun(100, func() {
		dst = e.Order(dst[:0], &page.Orders[0], acme.UpdatedAt)
		dst = e.Page(dst, page, "c")
		dst = e.Receipt(dst, receipt, "i\"d")
		dst = e.Error(dst, "no\n", "f")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEncoders(b *testing.B) {
	fifty := &order.Page{Orders: slices.Repeat([]order.Order{acme}, 50)}
	all := encoders(b)
	all["msgpack"] = Msgpack()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, dst := all[name], make([]byte, 0, 16<<10)
		b.Run("order/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = e.Order(dst[:0], &acme, time.Time{})
			}
		})
		b.Run("page/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = e.Page(dst[:0], fifty, "next")
			}
		})
	}
}
