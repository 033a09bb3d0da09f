package notifytest

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// takesOnce holds that a notice is stored and delivered once, however often it is posted.
func takesOnce(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	first := c.post(one, notice("1", "k", "t", "1"))
	again := c.post(one, notice("1", "k", "t", `"other"`))
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
	key := http.Header{"Idempotency-Key": {"key-4"}}
	made := c.postWith(one, `{"key":"k","type":"t","payload":4}`, key)
	again = c.postWith(one, `{"key":"k","type":"t","payload":4}`, key)
	if made.ID != "key-4" || again.status != http.StatusOK || again.Seq != made.Seq {
		t.Errorf("by Idempotency-Key: %+v, then %+v", made, again)
	}
	if own := c.postWith(one, notice("5", "k", "t", "5"), key); own.ID != "5" || own.status != http.StatusAccepted {
		t.Errorf("an id and an Idempotency-Key: %+v", own)
	}
	if status, _, data := c.do("POST", "/v1/notices", one, `{"key":"k","type":"t"}`); status != http.StatusAccepted {
		t.Errorf("neither: %d %s", status, data)
	}
	s := c.quiet()
	got := r.sequences()["/a k"]
	if len(got) != 6 || !slices.Equal(ids(got)[:5], []string{"1", "2", "3", "key-4", "5"}) || got[0].Payload != "1" || s.Accepted != 6 {
		t.Errorf("delivered %v, stats %+v", ids(got), s)
	}
}

// takesOnceFromMany lets clients post the same notices at once: for each, one is told that it was accepted,
// and all the same number.
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
