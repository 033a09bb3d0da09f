package soak

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/services/orders/soak/history"

	"pgregory.net/rapid"
)

const orderText = `{"uid":7,"account":"A1","symbol":"K1-Z","side":"BUY","price":"101.25","qty":"100","filled":"0","status":"NEW","version":3,"updated_at":"2026-01-02T03:04:05.678901Z"}`

func TestParseOrder(t *testing.T) {
	want := history.Row{UID: 7, Account: "A1", Symbol: "K1-Z", Side: "BUY", Price: 10125000000, Qty: 10000000000, Status: "NEW", Version: 3,
		Updated: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)}
	for text, stale := range map[string]bool{
		orderText:        false,
		orderText + "\n": false,
		strings.Replace(orderText, `1Z"}`, `1Z","stale_since":"2026-01-02T03:04:05Z"}`, 1): true,
	} {
		if got, since, err := parseOrder([]byte(text)); err != nil || got != want || since != stale {
			t.Errorf("%s: %+v %v %v", text, got, since, err)
		}
	}
	for old, instead := range map[string]string{
		`{"uid":7`: `{"uid":"7"`, `"A1"`: `"A\u0031"`, `"101.25"`: `101.25`, `"100"`: `"1e2"`, `"version":3`: `"version":3,"more":1`,
		`2026-01-02T`: `2026-13-02T`, `Z"}`: `Z"`, `"symbol"`: `"Symbol"`, `7,`: `99999999999999999999,`, `"0"`: `"0."`,
	} {
		if got, _, err := parseOrder([]byte(strings.Replace(orderText, old, instead, 1))); err == nil {
			t.Errorf("with %s: %+v", instead, got)
		}
	}
	if _, _, err := parseOrder([]byte(orderText + orderText)); err == nil {
		t.Error("two orders are taken for one")
	}
}

func TestDecimals(t *testing.T) {
	for units, want := range map[int64]string{0: "0", 1: "0.00000001", 10125000000: "101.25", 100000000: "1", 1000000000000: "10000"} {
		if got := formatDecimal(units); got != want {
			t.Errorf("%d is %s, want %s", units, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.Int64Range(0, math.MaxInt64).Draw(t, "units")
		if got, ok := parseDecimal(formatDecimal(units)); !ok || got != units {
			t.Fatalf("%s is %d %v, want %d", formatDecimal(units), got, ok, units)
		}
	})
}

func read(text string) (history.Answer, bool, error) {
	w := wire{in: bufio.NewReader(strings.NewReader(text))}
	return w.answer()
}

func TestAnswer(t *testing.T) {
	const ok = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n"
	for name, c := range map[string]struct {
		text string
		want history.Answer
		last bool
		err  string // part of the error; "" means none
	}{
		"plain":               {ok + "\r\nno", history.Answer{Status: 404, Body: []byte("no")}, false, ""},
		"fields":              {ok + "etag: \"1-2\"\r\nWARNING: 110 - \"Response is Stale\"\r\nconnection: Close\r\n\r\nno", history.Answer{Status: 404, ETag: `"1-2"`, Marked: true, Body: []byte("no")}, true, ""},
		"another warning":     {ok + "Warning: 199 - \"x\"\r\n\r\nno", history.Answer{Status: 404, Body: []byte("no")}, false, ""},
		"not modified":        {"HTTP/1.1 304 Not Modified\r\n\r\n", history.Answer{Status: 304}, false, ""},
		"another protocol":    {"HTTP/2 200 OK\r\n\r\n", history.Answer{}, false, "status line"},
		"no status":           {"HTTP/1.1 2000 OK\r\n\r\n", history.Answer{}, false, "status line"},
		"not final":           {"HTTP/1.1 100 Continue\r\n\r\n", history.Answer{}, false, "final"},
		"no field":            {ok + "nonsense\r\n\r\nno", history.Answer{}, false, "header field"},
		"two lengths":         {ok + "Content-Length: 2\r\n\r\nno", history.Answer{}, false, "length"},
		"a negative length":   {"HTTP/1.1 404 N\r\nContent-Length: -1\r\n\r\nno", history.Answer{}, false, "length"},
		"too long":            {"HTTP/1.1 404 N\r\nContent-Length: 9999999\r\n\r\nno", history.Answer{}, false, "length"},
		"no length":           {"HTTP/1.1 404 N\r\n\r\nno", history.Answer{}, false, "without"},
		"chunked":             {"HTTP/1.1 404 N\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", history.Answer{}, false, "needs none"},
		"bare newline":        {"HTTP/1.1 404 N\nContent-Length: 2\r\n\r\nno", history.Answer{}, false, "CRLF"},
		"a line without end":  {"HTTP/1.1 404 " + strings.Repeat("x", 1<<16), history.Answer{}, false, "without an end"},
		"fields without end":  {"HTTP/1.1 404 N\r\n" + strings.Repeat("A: b\r\n", 1000), history.Answer{}, false, "header fields"},
		"an order that isn't": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", history.Answer{}, false, "order"},
	} {
		got, last, err := read(c.text)
		var wrong *garbled
		switch {
		case c.err != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want an error about %s", name, err, c.err)
		case c.err == "" && (err != nil || got.Status != c.want.Status || got.ETag != c.want.ETag || got.Marked != c.want.Marked || !bytes.Equal(got.Body, c.want.Body) || last != c.last):
			t.Errorf("%s: %+v %v %v", name, got, last, err)
		}
	}
	if _, _, err := read(ok + "\r\nn"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a body: %v", err)
	}
}

// net/http parses the request and finds the parameters.
func TestAsk(t *testing.T) {
	w := wire{}
	w.ask(history.Ask{UID: 7, MinVersion: 3, Known: 2, Stale: true}, "example.org", "secret")
	w.ask(history.Ask{UID: 8}, "example.org", "other")
	in := bufio.NewReader(bytes.NewReader(w.out))
	for _, want := range []struct{ uri, token, match, cache string }{
		{"/api/v1/order?uid=7&min_version=3", "Bearer secret", `"7-2"`, "max-stale=60"}, {"/api/v1/order?uid=8", "Bearer other", "", ""},
	} {
		r, err := http.ReadRequest(in)
		if err != nil {
			t.Fatal(err)
		}
		h := r.Header
		if r.RequestURI != want.uri || r.Host != "example.org" || h.Get("Authorization") != want.token || h.Get("If-None-Match") != want.match || h.Get("Cache-Control") != want.cache {
			t.Errorf("%s %s %v", r.Host, r.RequestURI, h)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 165\r\nETag: \"7-3\"\r\n\r\n" + orderText)
	f.Add("HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if a, _, err := read(text); err == nil && (a.Status < 200 || a.Status > 999 || len(a.Body) > maxBody) {
			t.Errorf("%+v", a)
		}
	})
}

func FuzzPage(f *testing.F) {
	f.Add(`{"orders":[` + orderText + `],"next":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		page, _, err := parsePage([]byte(text))
		if err != nil {
			return
		}
		for _, row := range page.Rows {
			if row.UID < 0 || row.Price < 0 || row.Qty < 0 || row.Filled < 0 {
				t.Errorf("%+v", row)
			}
		}
	})
}
