package core

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/services/notify/notifytest"
)

// takesOnce holds that a notice is stored and delivered once, however often it is posted.
func takesOnce(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	first := c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	again := c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	if again.Status != http.StatusOK || !again.Duplicate || again.Seq != first.Seq || again.ID != "1" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	mixed := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("2", "k", "t", "2"), notifytest.Notice("1", "k", "t", "1"), notifytest.Notice("2", "k", "t", "2"), notifytest.Notice("3", "k", "t", "3")))
	var marks []bool
	for _, n := range mixed.Notices {
		marks = append(marks, n.Duplicate)
	}
	if mixed.Status != http.StatusAccepted || mixed.Accepted != 2 || mixed.Duplicates != 2 || mixed.Deliveries != 2 ||
		!slices.Equal(marks, []bool{false, true, true, false}) || mixed.Notices[2].Seq != mixed.Notices[0].Seq {
		t.Errorf("a batch with duplicates: %+v", mixed)
	}
	if all := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("3", "k", "t", "3"), notifytest.Notice("2", "k", "t", "2"))); all.Status != http.StatusOK || all.Accepted != 0 || all.Duplicates != 2 {
		t.Errorf("a batch of duplicates: %+v", all)
	}
	s := c.Quiet()
	got := r.Sequences()["/a k"]
	if !slices.Equal(notifytest.Ids(got), []string{"1", "2", "3"}) || got[0].Payload != "1" || s.Accepted != 3 {
		t.Errorf("delivered %v, stats %+v", notifytest.Ids(got), s)
	}
}

// takesOnceFromMany lets clients post the same notices concurrently: for each notice one client
// reads 202, and all read the same number.
func takesOnceFromMany(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	const clients, notices = 8, 20
	var posting sync.WaitGroup
	var answers [clients][notices]notifytest.Taken
	for p := range clients {
		posting.Go(func() {
			for i := range notices {
				answers[p][i] = c.Post(notifytest.One, notifytest.Notice(fmt.Sprintf("n%02d", i), "k", "t", "1"))
			}
		})
	}
	posting.Wait()
	for i := range notices {
		accepted := 0
		for p := range clients {
			if answers[p][i].Status == http.StatusAccepted {
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
	if s := c.Quiet(); s.Accepted != notices || len(r.Sequences()["/a k"]) != notices {
		t.Errorf("stats %+v, delivered %v", s, notifytest.Ids(r.Sequences()["/a k"]))
	}
}

// refusesOtherFromMany lets clients post different notices under the same ids at the same time: one
// of each is taken.
func refusesOtherFromMany(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	const clients, notices = 8, 20
	var posting sync.WaitGroup
	var accepted [notices]atomic.Int32
	for p := range clients {
		posting.Go(func() {
			for i := range notices {
				resp, data, err := c.Send("POST", "/v1/notices", notifytest.One, notifytest.Notice(fmt.Sprintf("n%02d", i), "k", "t", fmt.Sprint(p)), nil)
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
