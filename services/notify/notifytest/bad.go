package notifytest

import (
	"strings"
	"testing"
)

// badNotices are requests that must be refused with a status; the error says what is wrong, and in
// which field.
var badNotices = []struct {
	status                   int
	kind, body, wants, field string
}{
	{400, One, ``, "notice", ""},
	{400, One, `{`, "notice", ""},
	{400, One, `[]`, "notice", ""},
	{400, One, `{"key":"k","type":"t","payload":}`, "notice", ""},
	{400, One, `{"key":"k","type":"t","data":1}`, "data", "data"},
	{400, One, `{"id":7,"key":"k","type":"t"}`, "id", "id"},
	{400, One, `{"type":"t","payload":1}`, "key", "key"},
	{400, One, `{"key":"k","payload":1}`, "type", "type"},
	{400, One, good + good, "after", ""},
	{400, One, Notice("a.b", "k", "t", "1"), "a.b", "id"},
	{400, One, Notice("a b", "k", "t", "1"), "a b", "id"},
	{400, One, Notice(strings.Repeat("i", 300), "k", "t", "1"), "256", "id"},
	{400, One, Notice("1", strings.Repeat("k", 300), "t", "1"), "256", "key"},
	{413, One, Notice("1", "k", "t", `"`+strings.Repeat("x", 300<<10)+`"`), "bytes", ""},
	{413, Batch, strings.Repeat(good+"\n", 10_001), "10000", ""},
	{400, Batch, "\n\n", "empty", ""},
	{400, Batch, Lines(good, good, `{"key":"k"`, good), "line 3", ""},
	{400, Batch, Lines(good, "", `{"type":"t"}`), "line 3", ""},
	{400, One, Notice("1", "k", "t", "\"\xff\""), "UTF-8", "payload"},
	{400, One, Notice("1", "k", "t", "{\"a\":[{\"\xc3(\":1}]}"), "UTF-8", "payload"},
	{400, One, Notice("1", "k", "t", "\"\xed\xa0\x80\""), "UTF-8", "payload"}, // a surrogate
	{400, One, Notice("1", "k", "t", `["\ud800"]`), "surrogate", "payload"},
	{400, One, Notice("1", "k", "t", `{"\udc00\ud800":1}`), "surrogate", "payload"},
	{400, One, "{\"key\":\"k\xff\",\"type\":\"t\"}", "UTF-8", "key"},
	{400, One, `{"key":"\ud800","type":"t"}`, "surrogate", "key"},
	{400, One, "{\"key\":\"k\",\"type\":\"\x80t\"}", "UTF-8", "type"},
	{400, One, "{\"id\":\"\xfe\",\"key\":\"k\",\"type\":\"t\"}", "UTF-8", "id"},
	{400, One, "{\"key\":\"k\",\"type\":\"t\",\"\xff\":1}", "", ""},
	{400, Batch, Lines(good, Notice("2", "k", "t", "\"\xff\"")), "line 2", ""},
	{415, "text/plain", good, "text/plain", ""},
	{415, "", good, "application/json", ""},
}

var good = Notice("1", "k", "t", "1") // which may stand beside bad ones

// RefusesBad holds that what is no notice is refused and leaves nothing behind, and that the error
// says what is wrong.
func RefusesBad(says bool) Case {
	return func(t *testing.T, start Start) {
		c, r := Open(t, start, Usual), NewReceiver(t, nil)
		c.Subscribe(r, "/a", nil)
		for _, bad := range badNotices {
			got := c.Refused(bad.status, bad.kind, bad.body)
			if says && (!strings.Contains(got.Error, bad.wants) || bad.field != "" && got.Field != bad.field) {
				t.Errorf("%.60q: the error %q in field %q does not mention %q in %q", bad.body, got.Error, got.Field, bad.wants, bad.field)
			}
		}
		if status, _, _ := c.Do("POST", "/v1/notices", Batch, strings.Repeat("x", 17<<20)); status != 413 {
			t.Errorf("a body of 17 MiB: %d", status)
		}
		if s := c.Stats(); s.Accepted != 0 || len(r.Hooks()) != 0 {
			t.Errorf("something was accepted: %+v", s)
		}
	}
}
