package release

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"dyno/services/orders/web"
)

// answered returns an answer in JSON.
func answered(status int, etag, body string) *web.Response {
	return &web.Response{Status: status, ETag: etag, ContentType: "application/json", Body: []byte(body)}
}

// page returns a list of orders with these uids; a negative uid has another version.
func page(next string, uids ...int) *web.Response {
	var rows []string
	for _, uid := range uids {
		version := 1
		if uid < 0 {
			uid, version = -uid, 2
		}
		rows = append(rows, fmt.Sprintf(`{"uid":%d,"version":%d,"qty":"1"}`, uid, version))
	}
	return answered(200, "", `{"orders":[`+strings.Join(rows, ",")+`]`+next+`}`)
}

func packed(r *web.Response) *web.Response {
	e, _ := zstd.NewWriter(nil)
	defer e.Close()
	r.Body, r.ContentEncoding = e.EncodeAll(r.Body, nil), "zstd"
	return r
}

func with(r *web.Response, change func(*web.Response)) *web.Response { change(r); return r }

const (
	first  = `"7-1"`
	second = `"7-2"`
	order  = `{"uid":7,"version":1,"price":"1.5","filled":null}`
)

func TestCompare(t *testing.T) {
	r := open(t, Usual(slog.New(slog.DiscardHandler)))
	msgpack := func(r *web.Response) { r.ContentType = "application/msgpack" }
	for _, test := range []struct {
		name           string
		query          string
		stable, second *web.Response
		want           verdict
		what           string
	}{
		{"the same bytes", "", answered(200, first, order), answered(200, first, order), same, ""},
		{"the same value", "", answered(200, first, order), answered(200, first, ` {"price":"1.5", "filled":null, "version":1e0,"uid":7.0}`), same, ""},
		{"packed", "", packed(answered(200, first, order)), answered(200, first, order), same, ""},
		{"a parameter of the type", "", answered(200, first, order), with(answered(200, first, order), func(r *web.Response) { r.ContentType = "application/json; charset=utf-8" }), same, ""},
		{"another value", "", answered(200, first, order), answered(200, first, strings.Replace(order, "1.5", "1.50", 1)), different, `price: "1.5" and "1.50"`},
		{"another big number", "", answered(200, "", `{"a":[9007199254740993]}`), answered(200, "", `{"a":[9007199254740992]}`), different, `a[0]: 9007199254740993 and 9007199254740992`},
		{"another type", "", answered(200, "", `{"a":1}`), answered(200, "", `{"a":"1"}`), different, `a: 1 and "1"`},
		{"a member less", "", answered(200, "", `{"a":{"b":1}}`), answered(200, "", `{"a":{}}`), different, `a.b: is missing`},
		{"a member more", "", answered(200, "", `{"a":{}}`), answered(200, "", `{"a":{"b":1}}`), different, `a.b: is new`},
		{"an element less", "", answered(200, "", `[1,2]`), answered(200, "", `[1]`), different, ": 2 and 1 elements"},
		{"no JSON", "", answered(200, first, order), answered(200, first, order+"x"), different, "not JSON"},
		{"another status", "", answered(404, "", `{"error":"a"}`), answered(200, first, order), different, "status 404 and 200"},
		{"it fails", "", answered(200, first, order), answered(503, "", `{}`), different, "status 200 and 503"},
		{"the stable one failed", "", answered(503, "", `{}`), answered(200, first, order), incomparable, ""},
		{"another version", "", answered(200, first, order), answered(200, second, `{}`), incomparable, "changed"},
		{"another order", "", answered(200, first, order), answered(200, `"8-1"`, order), different, "ETag"},
		{"no tag", "", answered(200, first, order), answered(200, "", order), different, "ETag"},
		{"not modified", "", answered(304, first, ""), answered(304, first, ""), same, ""},
		{"modified meanwhile", "", answered(304, first, ""), answered(200, second, order), incomparable, "changed"},
		{"does not know 304", "", answered(304, first, ""), answered(200, first, order), different, "status 304 and 200"},
		{"min_version has come", "", answered(409, "", `{}`), answered(200, first, order), incomparable, "meanwhile"},
		{"stale", "", with(answered(200, first, order), func(r *web.Response) { r.Warning = "110" }), answered(200, first, "{}"), incomparable, "stale"},
		{"another media type", "", answered(200, first, order), with(answered(200, first, order), msgpack), different, "type"},
		{"other bytes", "", with(answered(200, first, "a"), msgpack), with(answered(200, first, "b"), msgpack), different, "bodies"},
		{"unknown coding", "", answered(200, first, order), with(answered(200, first, order), func(r *web.Response) { r.ContentEncoding = "br" }), different, `"br"`},
		{"broken coding", "", answered(200, first, order), with(answered(200, first, order), func(r *web.Response) { r.ContentEncoding = "zstd" }), different, "zstd"},

		{"an empty page", "", page(""), page(""), same, ""},
		{"a page", "", page(`,"next":"c"`, 9, 8), page(` ,"next":"c"`, 9, 8), same, ""},
		{"another cursor", "", page(`,"next":"c"`, 9, 8), page(`,"next":"d"`, 9, 8), different, "next"},
		{"a new order", "", page("", 9, 8), page("", 10, 9, 8), incomparable, "added"},
		{"the first order", "", page(""), page("", 10), incomparable, "added"},
		{"a new order pushes one off", "", page("", 9, 8), page("", 10, 9), incomparable, "added"},
		{"new orders push all off", "", page("", 9, 8), page("", 12, 11), incomparable, "added"},
		{"a new order and one lost", "", page("", 9, 8, 7), page("", 10, 9), different, "order 8 is only in the first"},
		{"the last is lost", "", page("", 9, 8), page("", 9), different, "order 8 is only in the first"},
		{"one in between is lost", "", page("", 9, 8, 7), page("", 9, 7), different, "orders[1]: uid 8 and 7"},
		{"one too many", "", page("", 9), page("", 9, 8), different, "order 8 is only in the second"},
		{"a changed order", "", page("", 9, 8), page("", 9, -8), incomparable, "changed"},
		{"a changed order and another value", "", page("", 9, 8), with(page("", -9, 8), func(r *web.Response) {
			r.Body = []byte(strings.Replace(string(r.Body), `"version":1,"qty":"1"`, `"version":1,"qty":"2"`, 1))
		}), different, `orders[1].qty: "1" and "2"`},
		{"no longer of that status", "status=NEW&limit=2", page("", 9, 8), page("", 9), incomparable, "added or removed"},
		{"of that status", "status=NEW", page("", 9, 8), page(" ", 9, 8), same, ""},
		{"no numbers", "", page("", 9), answered(200, "", `{"orders":[{"uid":"9"}]}`), different, "no numbers"},
		{"no orders", "", page("", 9), answered(200, "", `{"orders":null}`), different, "orders: an array and"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, what := r.compare(&web.Request{Query: test.query}, test.stable, test.second)
			if v != test.want || !strings.Contains(what, test.what) {
				t.Errorf("got %d, %q; want %d, %q", v, what, test.want, test.what)
			}
		})
	}
}

// compare returns a verdict for any answer of a second version; an answer equals itself.
func FuzzCompare(f *testing.F) {
	for _, r := range []*web.Response{answered(200, first, order), page(`,"next":"c"`, 9, -8), page(""), packed(page("", 9)), answered(304, first, "")} {
		f.Add(r.Status, r.ETag, r.ContentEncoding, r.Body, []byte(order))
		f.Add(200, first, r.ContentEncoding, []byte(`{"orders":[{"uid":1,"version":2}]}`), r.Body)
	}
	r := open(f, Usual(slog.New(slog.DiscardHandler)))
	f.Fuzz(func(t *testing.T, status int, etag, encoding string, a, b []byte) {
		left, right := answered(status, etag, string(a)), answered(status, etag, string(b))
		right.ContentEncoding = encoding
		v, what := r.compare(&web.Request{}, left, right)
		if (v == same) != (what == "") {
			t.Errorf("%d: %q", v, what)
		}
		if v, what := r.compare(&web.Request{}, left, left); v == different {
			t.Errorf("differs from itself: %s", what)
		}
	})
}
