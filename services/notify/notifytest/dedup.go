package notifytest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// takesOnce holds that a notice is stored and delivered once, however often it is posted.
func takesOnce(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	first := c.post(one, notice("1", "k", "t", "1"))
	again := c.post(one, notice("1", "k", "t", "1"))
	if again.status != http.StatusOK || !again.Duplicate || again.Seq != first.Seq || again.ID != "1" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	mixed := c.post(batch, lines(notice("2", "k", "t", "2"), notice("1", "k", "t", "1"), notice("2", "k", "t", "2"), notice("3", "k", "t", "3")))
	var marks []bool
	for _, n := range mixed.Notices {
		marks = append(marks, n.Duplicate)
	}
	if mixed.status != http.StatusAccepted || mixed.Accepted != 2 || mixed.Duplicates != 2 || mixed.Deliveries != 2 ||
		!slices.Equal(marks, []bool{false, true, true, false}) || mixed.Notices[2].Seq != mixed.Notices[0].Seq {
		t.Errorf("a batch with duplicates: %+v", mixed)
	}
	if all := c.post(batch, lines(notice("3", "k", "t", "3"), notice("2", "k", "t", "2"))); all.status != http.StatusOK || all.Accepted != 0 || all.Duplicates != 2 {
		t.Errorf("a batch of duplicates: %+v", all)
	}
	s := c.quiet()
	got := r.sequences()["/a k"]
	if !slices.Equal(ids(got), []string{"1", "2", "3"}) || got[0].Payload != "1" || s.Accepted != 3 {
		t.Errorf("delivered %v, stats %+v", ids(got), s)
	}
}

// takesKeyOnce holds that the header Idempotency-Key stands for the id of a notice without one.
func takesKeyOnce(t *testing.T, start Start) {
	c := open(t, start, limits)
	key := http.Header{"Idempotency-Key": {"key-4"}}
	made := c.postWith(one, `{"key":"k","type":"t","payload":4}`, key)
	again := c.postWith(one, `{"key":"k","type":"t","payload":4}`, key)
	if made.ID != "key-4" || again.status != http.StatusOK || again.Seq != made.Seq {
		t.Errorf("by Idempotency-Key: %+v, then %+v", made, again)
	}
	if resp, data, err := c.send("POST", "/v1/notices", one, `{"key":"k","type":"t","payload":5}`, key); err != nil || resp.StatusCode != http.StatusConflict {
		t.Errorf("with another payload: %s, %v", data, err)
	}
	if own := c.postWith(one, notice("5", "k", "t", "5"), key); own.ID != "5" || own.status != http.StatusAccepted {
		t.Errorf("an id and an Idempotency-Key: %+v", own)
	}
}

// takesOnceFromMany lets clients post the same notices concurrently: for each notice one client
// reads 202, and all read the same number.
func takesOnceFromMany(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	const clients, notices = 8, 20
	var posting sync.WaitGroup
	var answers [clients][notices]taken
	for p := range clients {
		posting.Go(func() {
			for i := range notices {
				answers[p][i] = c.post(one, notice(fmt.Sprintf("n%02d", i), "k", "t", "1"))
			}
		})
	}
	posting.Wait()
	for i := range notices {
		accepted := 0
		for p := range clients {
			if answers[p][i].status == http.StatusAccepted {
				accepted++
			}
			if answers[p][i].Seq != answers[0][i].Seq || answers[p][i].Seq == 0 {
				t.Errorf("notice %d has the numbers %d and %d", i, answers[0][i].Seq, answers[p][i].Seq)
			}
		}
		if accepted != 1 {
			t.Errorf("notice %d was accepted %d times", i, accepted)
		}
	}
	if s := c.quiet(); s.Accepted != notices || len(r.sequences()["/a k"]) != notices {
		t.Errorf("stats %+v, delivered %v", s, ids(r.sequences()["/a k"]))
	}
}

// refusesOther holds that an id stands for one notice: with another key, type or payload it is
// refused, and what it stood for stays as it was.
func refusesOther(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	first := c.post(one, notice("1", "k", "t", "1"))
	for _, other := range []string{notice("1", "k", "t", "2"), notice("1", "j", "t", "1"), notice("1", "k", "u", "1"),
		`{"id":"1","key":"k","type":"t"}`} {
		if got := c.refused(http.StatusConflict, one, other); got.Field != "id" || !strings.Contains(got.Error, `"1"`) {
			t.Errorf("%s: %+v", other, got)
		}
	}
	for body, line := range map[string]int{
		lines(notice("2", "k", "t", "2"), "", notice("1", "k", "t", "2")):                             3, // known with another payload
		lines(notice("2", "k", "t", "2"), notice("3", "k", "t", "3"), notice("2", "k", "t", "other")): 3, // in one batch
	} {
		body = strings.Replace(body, "other", `"other"`, 1)
		got := c.refused(http.StatusConflict, batch, body)
		if len(got.Lines) != 1 || got.Lines[0].Line != line || got.Lines[0].Field != "id" || !strings.Contains(got.Error, "line 3") {
			t.Errorf("%s: %+v", body, got)
		}
	}
	if again := c.post(one, notice("1", "k", "t", "1")); again.status != http.StatusOK || again.Seq != first.Seq {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if taken := c.post(batch, lines(notice("2", "k", "t", "2"), notice("3", "k", "t", "3"))); taken.Accepted != 2 {
		t.Errorf("ids of batches that were refused are not free: %+v", taken)
	}
	if s := c.quiet(); s.Accepted != 3 || len(r.sequences()["/a k"]) != 3 {
		t.Errorf("delivered %v, stats %+v", ids(r.sequences()["/a k"]), s)
	}
}

// refusesOtherFromMany lets clients post different notices under the same ids at the same time: one
// of each is taken.
func refusesOtherFromMany(t *testing.T, start Start) {
	c := open(t, start, limits)
	const clients, notices = 8, 20
	var posting sync.WaitGroup
	var accepted [notices]atomic.Int32
	for p := range clients {
		posting.Go(func() {
			for i := range notices {
				resp, data, err := c.send("POST", "/v1/notices", one, notice(fmt.Sprintf("n%02d", i), "k", "t", fmt.Sprint(p)), nil)
				switch {
				case err != nil:
					t.Error(err)
				case resp.StatusCode == http.StatusAccepted:
					accepted[i].Add(1)
				case resp.StatusCode != http.StatusConflict:
					t.Errorf("%d %s", resp.StatusCode, data)
				}
			}
		})
	}
	posting.Wait()
	for i := range notices {
		if n := accepted[i].Load(); n != 1 {
			t.Errorf("notice %d was accepted %d times", i, n)
		}
	}
}
