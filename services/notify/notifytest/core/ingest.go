package core

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/notify/notifytest"
)

// delivers holds that a payload passes byte for byte, whatever JSON it is, in the envelope agreed
// upon.
func delivers(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	payloads := []string{`{"a" : "<b>&", "c":[1.50, 2e3]}`, `"text \u00e9 é"`, `null`, `0.10`, `[ ]`, "{\n\t\"x\": true\n}", `"` + strings.Repeat("x", 100_000) + `"`}
	before := time.Now()
	for i, p := range payloads {
		if got := c.Post(notifytest.One, notifytest.Notice("id"+string(rune('a'+i)), `k"1`, "t", p)); got.Status != 202 || got.Deliveries != 1 || got.ID != "id"+string(rune('a'+i)) {
			t.Fatalf("answered %+v", got)
		}
	}
	after := time.Now()
	c.Quiet()
	got := r.Sequences()[`/a k"1`]
	if len(got) != len(payloads) {
		t.Fatalf("%d of %d came", len(got), len(payloads))
	}
	const grain = time.Second // a timestamp may be cut off there
	for i, n := range got {
		if n.Payload != payloads[i] || n.Type != "t" || n.ID != "id"+string(rune('a'+i)) {
			t.Errorf("sent %.80q, got %.120q", payloads[i], n.Body)
		}
		if n.Timestamp.Before(before.Add(-grain)) || n.Timestamp.After(after.Add(grain)) {
			t.Errorf("accepted between %v and %v, timestamp %v", before, after, n.Timestamp)
		}
	}
	if s := c.Stats(); s.Delivered != len(payloads) || s.Retried != 0 || s.Durable == nil || !*s.Durable {
		t.Errorf("stats %+v", s)
	}
	// without an id, one is made and told
	made := c.Post(notifytest.One+"; charset=utf-8", `{"key":"k2","type":"t"}`)
	c.Quiet()
	if last := r.Sequences()["/a k2"]; made.ID == "" || len(last) != 1 || last[0].ID != made.ID || last[0].Payload != "null" {
		t.Errorf("told %q, delivered %+v", made.ID, last)
	}
}

// numbers holds that the numbers of accepted notices are 1 apart, from any client, and that what is
// refused or known has none.
func numbers(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	first := c.Post(notifytest.One, notifytest.Notice("0", "k", "t", "1")).Seq
	c.Refused(400, notifytest.Batch, notifytest.Lines(notifytest.Notice("a", "k", "t", "1"), "{}"))
	got := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "t", "1"), notifytest.Notice("0", "k", "t", "1"), notifytest.Notice("2", "k", "t", "1")))
	if got.Accepted != 2 || got.Duplicates != 1 || len(got.Notices) != 3 ||
		got.Notices[0].Seq != first+1 || got.Notices[1].Seq != first || got.Notices[2].Seq != first+2 {
		t.Fatalf("after %d: %+v", first, got)
	}
	var posting sync.WaitGroup
	var mu sync.Mutex
	var all []uint64
	for p := range 4 {
		posting.Go(func() {
			for i := range 10 {
				answer := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series(fmt.Sprintf("p%d-%d-", p, i), 1+i, 3)...))
				mu.Lock()
				for k, n := range answer.Notices {
					all = append(all, n.Seq)
					if n.Seq != answer.Notices[0].Seq+uint64(k) {
						t.Errorf("the numbers of a batch: %+v", answer.Notices)
					}
				}
				mu.Unlock()
			}
		})
	}
	posting.Wait()
	slices.Sort(all)
	for i, seq := range all {
		if want := first + 3 + uint64(i); seq != want {
			t.Fatalf("number %d where %d should be", seq, want)
		}
	}
	if s := c.Stats(); len(all) != 4*55 || s.Seq != all[len(all)-1] {
		t.Errorf("%d numbers, the last %d; stats %+v", len(all), all[len(all)-1], s)
	}
}

func takesWhole(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	c.Refused(400, notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "a", "t", "1"), notifytest.Notice("2", "b", "t", "2"), "{}"))
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("3", "a", "t", "3"), notifytest.Notice("4", "b", "t", "4")))
	s := c.Quiet()
	got := r.Sequences()
	if a, b := notifytest.Ids(got["/a a"]), notifytest.Ids(got["/a b"]); s.Delivered != 2 || !slices.Equal(a, []string{"3"}) || !slices.Equal(b, []string{"4"}) {
		t.Errorf("got %v and %v, %+v", a, b, s)
	}
}

// refusesBeyond holds the receiver until the program takes no more.
func refusesBeyond(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Pending = 5
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/a", nil)
	kilobyte := `"` + strings.Repeat("x", 1024) + `"`
	var accepted, refused []string
	for i := 0; len(refused) == 0; i++ {
		if i > 100*l.Pending {
			t.Fatalf("%d notices wait, and the bound was %d", i, l.Pending)
		}
		id := fmt.Sprintf("%04d", i)
		status, _, data := c.Do("POST", "/v1/notices", notifytest.One, notifytest.Notice(id, "k", "t", kilobyte))
		switch status {
		case http.StatusAccepted:
			accepted = append(accepted, id)
		case http.StatusTooManyRequests:
			refused = append(refused, id)
		default:
			t.Fatalf("%d %s", status, data)
		}
	}
	c.Refused(429, notifytest.Batch, notifytest.Lines(notifytest.Notice("b1", "k", "t", kilobyte), notifytest.Notice("b2", "k", "t", kilobyte), notifytest.Notice("b3", "j", "t", kilobyte)))
	if s := c.Sums(); len(accepted) == 0 || s.Pending != len(accepted) || s.Subscriptions != nil && (s.Refused == 0 || s.Subscriptions[0].Refused != s.Refused) {
		t.Errorf("%d accepted, stats %+v", len(accepted), s)
	}
	r.Release()
	c.Quiet()
	c.Post(notifytest.One, notifytest.Notice(refused[0], "k", "t", "1")) // what was refused may come again
	c.Quiet()
	if got, want := notifytest.Ids(r.Sequences()["/a k"]), append(accepted, refused...); !slices.Equal(got, want) {
		t.Errorf("delivered %v, accepted %v", got, want)
	}
	if got := r.Sequences()["/a j"]; len(got) != 0 {
		t.Errorf("of a refused batch came %v", got)
	}
}
