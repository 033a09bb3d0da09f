package push

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dyno/services/notify/topic"
)

func TestParse(t *testing.T) {
	const first, next = 3, 10 // numbers 3 to 9 exist, 1 and 2 did
	for _, c := range []struct {
		query, header string
		from          uint64
		field         string // of a refusal; "reset": none, but the client is not where it thinks
	}{
		{"", "", 10, ""},
		{"after=0", "", 1, ""},
		{"after=9", "", 10, ""},
		{"after=3", "5", 6, ""},
		{"types=a,b.*&types=c", "5", 6, ""},
		{"after=x", "5", 6, ""}, // not looked at
		{"after=10", "", 3, "reset"},
		{"after=18446744073709551615", "", 3, "reset"},
		{"after=4", "10", 3, "reset"},
		{"", "18446744073709551615", 3, "reset"},
		{"", "18446744073709551616", 3, "reset"},
		{"after=1", "x", 3, "reset"},
		{"", "-1", 3, "reset"},
		{"after=55555555555555555555555", "", 3, "reset"},
		{"after=", "", 0, "after"},
		{"after=-1", "", 0, "after"},
		{"after=+1", "", 0, "after"},
		{"types=a*", "", 0, "types"},
		{"types=a,", "", 0, "types"},
		{"types=%zz", "", 0, "query"},
		{"after=1;types=a", "", 0, "query"},
	} {
		at, no := parse(c.query, c.header, first, next)
		switch {
		case no != nil && (no.Field != c.field || no.Status != http.StatusBadRequest):
			t.Errorf("%q, %q: %+v", c.query, c.header, no)
		case no == nil && (at.next != c.from || at.reset != (c.field == "reset") || c.field != "" && !at.reset):
			t.Errorf("%q, %q begins at %d, reset %v", c.query, c.header, at.next, at.reset)
		}
	}
	if at, _ := parse("types=a,b.*&types=c", "", first, next); !slices.Equal(at.types, []string{"a", "b.*", "c"}) {
		t.Errorf("types are %q", at.types)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("types=a,b.*&after=3", "", uint64(2), uint64(10))
	f.Add("after=18446744073709551615", "18446744073709551615", uint64(1), ^uint64(0))
	f.Add("types=%2a&after=+1;", "-1", uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, query, header string, first, next uint64) {
		first = max(first, 1)
		next = max(next, first)
		at, no := parse(query, header, first, next)
		if no != nil {
			if at != nil || no.Status != http.StatusBadRequest || no.Field == "" || no.Text == "" {
				t.Errorf("refused with %+v and %v", no, at)
			}
			return
		}
		if at.next < 1 || at.next > next || at.reset && at.next != first || topic.Check(at.types) != nil {
			t.Errorf("begins at %d of %d with types %q", at.next, next, at.types)
		}
	})
}

func TestRefusals(t *testing.T) {
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	o := options()
	o.MaxStreams = 1
	serve(t, o, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			target  string
			headers []string
			status  int
			field   string
		}{
			{"/v1/stream?types=*a", nil, 400, "types"},
			{"/v1/stream?after=no", nil, 400, "after"},
			{"/v1/ws?after=no", upgrade, 400, "after"},
			{"/v1/ws", nil, 426, ""},
		} {
			refused(b, c.target, c.headers, c.status, c.field)
		}
		if b.streams.Count() != 0 {
			t.Errorf("%d streams after refusals only", b.streams.Count())
		}
		only := b.sse("/v1/stream")
		for _, target := range []string{"/v1/stream", "/v1/ws"} {
			if after := refused(b, target, upgrade, 503, "").Get("Retry-After"); after == "" {
				t.Errorf("%s: 503 without Retry-After", target)
			}
		}
		only.close()
		synctest.Wait()
		page := b.get("/v1/ws", append([]string{"Origin", "http://elsewhere.test"}, upgrade...)...)
		if page.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("a page that the guard lets through gets %s", page.Status)
		}
		page.Body.Close()
		b.log.close()
		refused(b, "/v1/stream", nil, 503, "")
	})
}

func refused(b *bench, target string, headers []string, status int, field string) http.Header {
	b.t.Helper()
	answer := b.get(target, headers...)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	var body struct{ Error, Field string }
	if err := json.Unmarshal(text, &body); err != nil || body.Error == "" || body.Field != field || answer.StatusCode != status ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		b.t.Errorf("%s: %s: %s", target, answer.Status, text)
	}
	return answer.Header
}

func TestOnlyGET(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		for _, target := range []string{"/v1/stream", "/v1/ws"} {
			answer, err := b.client.Head(fmt.Sprint("http://notify.test", target))
			if err != nil || answer.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("HEAD %s: %v, %v", target, answer, err)
			}
		}
	})
}
