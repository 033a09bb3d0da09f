package api

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/notice"
)

// maxTesting bounds the test webhooks in progress: people send them by hand.
const maxTesting = 8

// trialType is the type of a test notice, and its key.
const trialType = "notifyd.test"

// trial is the outcome of a test notice.
type trial struct {
	ID      string  `json:"id"`
	Status  int     `json:"status"` // 0 means that there was no answer
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// testSubscription sends one notice to one receiver, now and once, whatever else waits for it, and
// answers with the outcome. It is signed as every webhook is, so that people see whether their
// receiver is there and verifies. It is in no log, counts nowhere, and its outcome changes nothing
// about the subscription.
func (a *API) testSubscription(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	id := r.PathValue("id")
	if _, err := a.Table.Get(id); err != nil {
		return 0, nil, noSubscription(r, err)
	}
	select {
	case a.testing <- struct{}{}:
		defer func() { <-a.testing }()
	default:
		return 0, nil, refusal.New(http.StatusTooManyRequests, "%d test notices are under way; try again later", maxTesting)
	}
	n := &notice.Notice{
		ID: "test_" + rand.Text(), Key: trialType, Type: trialType, Accepted: time.Now().UnixNano(),
		Payload: fmt.Appendf(nil, `{"test":true,"subscription":%q}`, id),
	}
	began := time.Now()
	o, err := a.Table.SendTest(id, n)
	if err != nil {
		return 0, nil, noSubscription(r, err)
	}
	out := trial{ID: n.ID, Status: o.Status, Seconds: time.Since(began).Seconds()}
	if !o.Delivered() {
		out.Error = o.Reason()
	}
	return http.StatusOK, out, nil
}
