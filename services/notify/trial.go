package notify

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
)

// maxTesting bounds the test webhooks under way: people send them by hand.
const maxTesting = 8

// trialType is the type of a test notice, and its key.
const trialType = "notifyd.test"

// trial is what came of a test notice.
type trial struct {
	ID      string  `json:"id"`
	Status  int     `json:"status"` // 0: there was no answer
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// testSubscription sends one notice to one receiver, now and once, whatever else waits for it, and says what came of it. It
// is signed as every webhook is, so that people see whether their receiver is there and verifies. It is in no log, counts
// nowhere, and what it came to changes nothing about the subscription.
func (d *Dispatcher) testSubscription(w http.ResponseWriter, r *http.Request) {
	sub := d.subscription(r.PathValue("id"))
	if sub == nil {
		answerError(w, noSubscription(r, errNoSubscription))
		return
	}
	select {
	case d.testing <- struct{}{}:
		defer func() { <-d.testing }()
	default:
		answerError(w, refuse(http.StatusTooManyRequests, "%d test notices are under way; try again later", maxTesting))
		return
	}
	n := &notice{
		ID: "test_" + rand.Text(), Key: trialType, Type: trialType, accepted: time.Now().UnixNano(),
		Payload: fmt.Appendf(nil, `{"test":true,"subscription":%q}`, sub.id),
	}
	d.encode.prepare(n)
	p := new(parcel)
	sub.mu.Lock()
	p.reset(sub)
	sub.mu.Unlock()
	p.notices = append(p.notices, n)
	began := time.Now()
	o := d.send(p)
	out := trial{ID: n.ID, Status: o.status, Seconds: time.Since(began).Seconds()}
	if !o.delivered() {
		out.Error = o.reason()
	}
	answer(w, http.StatusOK, out)
}
