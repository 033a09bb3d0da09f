package full

import (
	"net/http"
	"strings"
	"testing"

	"dyno/services/notify/notifytest"
)

// takesKeyOnce holds that the header Idempotency-Key stands for the id of a notice without one.
func takesKeyOnce(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	key := http.Header{"Idempotency-Key": {"key-4"}}
	made := c.PostWith(notifytest.One, `{"key":"k","type":"t","payload":4}`, key)
	again := c.PostWith(notifytest.One, `{"key":"k","type":"t","payload":4}`, key)
	if made.ID != "key-4" || again.Status != http.StatusOK || again.Seq != made.Seq {
		t.Errorf("by Idempotency-Key: %+v, then %+v", made, again)
	}
	if resp, data, err := c.Send("POST", "/v1/notices", notifytest.One, `{"key":"k","type":"t","payload":5}`, key); err != nil || resp.StatusCode != http.StatusConflict {
		t.Errorf("with another payload: %s, %v", data, err)
	}
	if own := c.PostWith(notifytest.One, notifytest.Notice("5", "k", "t", "5"), key); own.ID != "5" || own.Status != http.StatusAccepted {
		t.Errorf("an id and an Idempotency-Key: %+v", own)
	}
}

// refusesOther holds that an id stands for one notice: with another key, type or payload it is
// refused, and what it stood for stays as it was.
func refusesOther(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	first := c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	for _, other := range []string{notifytest.Notice("1", "k", "t", "2"), notifytest.Notice("1", "j", "t", "1"), notifytest.Notice("1", "k", "u", "1"),
		`{"id":"1","key":"k","type":"t"}`} {
		if got := c.Refused(http.StatusConflict, notifytest.One, other); got.Field != "id" || !strings.Contains(got.Error, `"1"`) {
			t.Errorf("%s: %+v", other, got)
		}
	}
	for body, line := range map[string]int{
		notifytest.Lines(notifytest.Notice("2", "k", "t", "2"), "", notifytest.Notice("1", "k", "t", "2")):                                        3, // known with another payload
		notifytest.Lines(notifytest.Notice("2", "k", "t", "2"), notifytest.Notice("3", "k", "t", "3"), notifytest.Notice("2", "k", "t", "other")): 3, // in one batch
	} {
		body = strings.Replace(body, "other", `"other"`, 1)
		got := c.Refused(http.StatusConflict, notifytest.Batch, body)
		if len(got.Lines) != 1 || got.Lines[0].Line != line || got.Lines[0].Field != "id" || !strings.Contains(got.Error, "line 3") {
			t.Errorf("%s: %+v", body, got)
		}
	}
	if again := c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1")); again.Status != http.StatusOK || again.Seq != first.Seq {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if taken := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("2", "k", "t", "2"), notifytest.Notice("3", "k", "t", "3"))); taken.Accepted != 2 {
		t.Errorf("ids of batches that were refused are not free: %+v", taken)
	}
	if s := c.Quiet(); s.Accepted != 3 || len(r.Sequences()["/a k"]) != 3 {
		t.Errorf("delivered %v, stats %+v", notifytest.Ids(r.Sequences()["/a k"]), s)
	}
}
