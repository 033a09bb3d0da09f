package dispatch

import (
	"testing"
	"time"

	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// newTestSubscriber makes a subscriber of a deliverer that sends nothing.
func newTestSubscriber(t testing.TB) *subscriber {
	t.Helper()
	d := &Deliverer{pack: single{}}
	d.init(nil, backoff{time.Second, time.Minute})
	sub, err := newSubscriber(d, subscription.Definition{URL: "http://example.com:8080/hook?a=b", Batch: 100})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func newTestLimiter(t testing.TB) *receiverLimiter { return &newTestSubscriber(t).limiter }

// What an outcome says about the receiver sets its limit and its pauses.
func TestOnResult(t *testing.T) {
	for _, c := range []struct {
		status, limit, want int
		paused              bool
	}{
		{200, 16, 17, false}, {204, 32, 32, false},
		{400, 16, 16, false}, {404, 16, 16, false}, // about this notice, not about the receiver
		{500, 16, 8, false}, {501, 1, 1, false}, {0, 17, 8, false}, {0, 1, 1, false},
		{429, 16, 8, true}, {502, 16, 8, true}, {503, 2, 1, true}, {504, 1, 1, true},
	} {
		g := newTestLimiter(t)
		g.limit = c.limit
		g.onResult(webhook.Outcome{Status: c.status})
		if g.limit != c.want || g.paused != c.paused || g.circuitOpen != c.paused {
			t.Errorf("%d: of %d left %d, paused %v, throttled %v", c.status, c.limit, g.limit, g.paused, g.circuitOpen)
		}
	}
}

// Five failures in a row of any kind open the breaker, four do not, and a delivery starts the count
// again.
func TestBreakerCounts(t *testing.T) {
	g := newTestLimiter(t)
	for i, status := range []int{500, 400, 0, 404, 200, 500, 400, 0, 404} {
		if g.onResult(webhook.Outcome{Status: status}); g.paused {
			t.Fatalf("paused after %d outcomes", i+1)
		}
	}
	if g.onResult(webhook.Outcome{Status: 400}); !g.paused || g.limit != 1 {
		t.Errorf("after five: paused %v, a limit of %d", g.paused, g.limit)
	}
}
