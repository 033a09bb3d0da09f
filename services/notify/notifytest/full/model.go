package full

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/services/notify/notifytest"
)

// Input is a program of posts for the metamorphic test: whatever the assembly, the same input gives
// the same deliveries.
type Input struct {
	Subscriptions []map[string]any // but for the url
	Posts         [][]string       // each a batch of notices
	Restarts      []Restart        // by post: what comes after it
}

// Restart says how the program ends and begins again between two posts.
type Restart int

const (
	None Restart = iota
	Stop         // with next to no time to drain
	Kill         // or Stop, where the program cannot be killed
)

// DrawInput makes an input.
func DrawInput(t *rapid.T) Input {
	var in Input
	for range rapid.IntRange(1, 3).Draw(t, "subscriptions") {
		sub := map[string]any{"batch": rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "batch")}
		if types := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y.a", "y.*", "z"}), rapid.ID[string]).Draw(t, "types"); len(types) > 0 {
			sub["types"] = types
		}
		in.Subscriptions = append(in.Subscriptions, sub)
	}
	id, last := 0, ""
	for range rapid.IntRange(1, 8).Draw(t, "posts") {
		var post []string
		for range rapid.IntRange(1, 10).Draw(t, "notices") {
			if again := rapid.SampledFrom([]bool{false, false, false, false, true}).Draw(t, "again"); !again || last == "" {
				id++
				last = notifytest.Notice(fmt.Sprintf("n%d", id),
					rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
					rapid.SampledFrom([]string{"x", "y.a", "y.b", "z"}).Draw(t, "type"),
					rapid.SampledFrom([]string{`1`, `{"a": [1, 2]}`, `"<é>"`}).Draw(t, "payload"))
			}
			post = append(post, last)
		}
		in.Posts = append(in.Posts, post)
		in.Restarts = append(in.Restarts, rapid.SampledFrom([]Restart{None, None, None, None, Stop, Kill}).Draw(t, "restart"))
	}
	return in
}

// Model returns what must be delivered: for each subscription (by its number) and key, the notices.
func (in Input) Model() map[string][]string {
	out := map[string][]string{}
	for s, sub := range in.Subscriptions {
		types, _ := sub["types"].([]string)
		known := map[string]bool{}
		for _, text := range slices.Concat(in.Posts...) {
			var n struct {
				ID, Key, Type string
				Payload       json.RawMessage
			}
			if err := json.Unmarshal([]byte(text), &n); err != nil {
				panic(err) // the suite's own notices
			}
			wanted := len(types) == 0 || slices.Contains(types, n.Type) || strings.HasPrefix(n.Type, "y.") && slices.Contains(types, "y.*")
			if wanted && !known[n.ID] {
				lane := fmt.Sprintf("/%d %s", s, n.Key)
				out[lane] = append(out[lane], fmt.Sprintf("%s %s %s", n.ID, n.Type, n.Payload))
			}
			known[n.ID] = true
		}
	}
	return out
}

// Deliveries posts an input and returns what was delivered, as Model does, each notice once: around
// a restart some may come again. One webhook in five fails.
func Deliveries(t testing.TB, start notifytest.Start, in Input) map[string][]string {
	l := notifytest.Usual.Brief()
	l.Attempts, l.Backoff, l.MaxBackoff = 100, 100*time.Microsecond, time.Millisecond
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, notifytest.Flaky)
	for i, sub := range in.Subscriptions {
		c.Subscribe(r, fmt.Sprintf("/%d", i), sub)
	}
	restarted := false
	for i, post := range in.Posts {
		c.Post(notifytest.Batch, notifytest.Lines(post...))
		if how := in.Restarts[i]; how != None {
			c.Restart(how == Kill && c.Program.Kill != nil)
			restarted = true
		}
	}
	c.Quiet()
	c.Stop()
	out := map[string][]string{}
	for lane, notices := range r.Sequences() {
		once := notifytest.First(notices)
		if len(once) != len(notices) && !restarted {
			t.Errorf("%s: something came twice: %v", lane, notifytest.Ids(notices))
		}
		for _, n := range once {
			out[lane] = append(out[lane], fmt.Sprintf("%s %s %s", n.ID, n.Type, n.Payload))
		}
	}
	return out
}

func matchesModel(t *testing.T, start notifytest.Start) {
	for seed := range 5 {
		in := rapid.Custom(DrawInput).Example(seed)
		want, got := in.Model(), Deliveries(t, start, in)
		if !maps.EqualFunc(want, got, slices.Equal) {
			t.Errorf("input %+v\ndelivered %v\nwant      %v", in, got, want)
		}
	}
}

// addsUp lets clients post, receivers fail, disable themselves and be deleted concurrently, under a
// bound that is often reached, and wants every figure to add up in the end.
func addsUp(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Pending, l.Attempts = 300, 2
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		switch n := rand.IntN(100); {
		case h.Path == "/leaves" && n < 2:
			return notifytest.Reply{Status: 410}
		case n < 40:
			return notifytest.Reply{Status: 500}
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/stays", nil)
	c.Subscribe(r, "/leaves", map[string]any{"batch": 4})
	doomed := c.Subscribe(r, "/deleted", nil)
	var posting sync.WaitGroup
	var mu sync.Mutex
	owed, refused := 0, 0
	for p := range 4 {
		posting.Go(func() {
			for i := range 25 {
				var ns []string
				for k := range 1 + rand.IntN(20) {
					ns = append(ns, notifytest.Notice(fmt.Sprintf("%d-%d-%d", p, i, k), fmt.Sprintf("k%d", rand.IntN(30)), "t", "1"))
				}
				status, _, data := c.Do("POST", "/v1/notices", notifytest.Batch, notifytest.Lines(ns...))
				mu.Lock()
				switch status {
				case 202:
					if got, err := notifytest.ReadTaken(status, data); err != nil {
						t.Error(err)
					} else {
						owed += got.Deliveries
					}
				case 429:
					refused++
				default:
					t.Errorf("%d %s", status, data)
				}
				mu.Unlock()
				if p == 0 && i == 12 {
					c.Do("DELETE", "/v1/subscriptions/"+doomed.ID, "", "")
				}
			}
		})
	}
	posting.Wait()
	s := c.Quiet()
	if s.Accepted != owed || s.Delivered == 0 || s.Dead == 0 || (refused > 0) != (s.Refused > 0) {
		t.Errorf("202s owed %d deliveries and %d posts were refused; stats %+v", owed, refused, s)
	}
	if left := c.Stop(); left != 0 {
		t.Errorf("%d left", left)
	}
}
