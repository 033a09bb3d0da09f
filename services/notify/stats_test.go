package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/notify/api"
	"dyno/services/notify/dispatch"
)

// call sends a request to the API and reads the answer.
func (w *world) call(method, path string, status int, into any) {
	r := httptest.NewRecorder()
	w.d.Handler().ServeHTTP(r, httptest.NewRequest(method, path, nil))
	if r.Code != status {
		w.fail("%s %s: %d %s", method, path, r.Code, r.Body)
	}
	if err := json.Unmarshal(r.Body.Bytes(), into); err != nil {
		w.fail("%s %s: %s: %v", method, path, r.Body, err)
	}
}

// While a receiver is down the statistics say for how long the oldest notice has waited, and what
// it waits for.
func TestStatsOfAReceiverThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, well := newPeer(t, func(hook) outcome { return outcome{status: 503} }), newPeer(t, nil)
		w := newWorld(t, map[string]string{"max_attempts": "100", "max_backoff": "1m"})
		w.subscribe(down.host, ofTypes("a"))
		w.subscribe(well.host, ofTypes("b"))
		w.mustPost(aNotice("1", "k", "a"), aNotice("2", "j", "a"), aNotice("3", "k", "b"))
		pass(10 * time.Minute)
		s := w.d.api.Stats(10)
		row := s.Subscriptions[0]
		if row.State != "failing" || s.OldestAgeSeconds != 600 || row.OldestAgeSeconds != 600 || s.OldestReachable != 0 || s.States["failing"] != 1 || s.States["ok"] != 1 {
			t.Errorf("after 10 minutes: %+v", s)
		}
		if wait := time.Until(row.NextAttempt); row.Retrying != 2 || row.Tried < 5 || row.LastStatus != 503 || wait <= 0 || wait > time.Minute {
			t.Errorf("what waits: %+v", row)
		}
		if s.Attempts != s.Retried+3 || s.Attempts != int64(len(down.hooks))+1 || s.Webhooks != 1 {
			t.Errorf("%d attempts, %d of them retries; %d came", s.Attempts, s.Retried, len(down.hooks)+1)
		}
		down.answers(nil)
		pass(2 * time.Minute)
		if s := w.d.api.Stats(10); s.OldestAgeSeconds != 0 || s.Subscriptions[0].Retrying != 0 || !s.Subscriptions[0].NextAttempt.IsZero() || s.Pending != 0 {
			t.Errorf("when it is well again: %+v", s)
		}
		w.stop()
	})
}

func TestStatsAreSearched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, nil)
		for i := range 30 {
			w.subscribe(p.host, ofTypes(fmt.Sprintf("Kind%02d", i), "common"))
		}
		for query, want := range map[string]struct{ listed, matching, more int }{
			"":                                 {30, 30, 0},
			"?limit=10":                        {10, 30, 20},
			"?limit=10&offset=25":              {5, 30, 0},
			"?offset=31":                       {0, 30, 0},
			"?offset=73786976294838206464":     {0, 30, 0},
			"?q=kind2&limit=4&offset=4":        {4, 10, 2},
			"?q=COMMON&state=ok":               {30, 30, 0},
			"?state=failing":                   {0, 0, 0},
			"?q=" + p.host[:4] + "&limit=1000": {30, 30, 0},
			"?q=nothing":                       {0, 0, 0},
		} {
			var s api.Stats
			w.call("GET", "/v1/stats"+query, http.StatusOK, &s)
			if len(s.Subscriptions) != want.listed || s.Matching != want.matching || s.More != want.more || s.States["ok"] != 30 {
				t.Errorf("%s: %d listed, %d match, %d more", query, len(s.Subscriptions), s.Matching, s.More)
			}
		}
		for _, query := range []string{"?state=fine", "?offset=-1", "?offset=-73786976294838206464", "?offset=x", "?q=" + strings.Repeat("x", dispatch.MaxURL+1)} {
			var bad struct{ Field string }
			if w.call("GET", "/v1/stats"+query, http.StatusBadRequest, &bad); bad.Field == "" {
				t.Errorf("%.20s: no field", query)
			}
		}
		w.stop()
	})
}

// A test notice comes to one receiver, signed, whatever waits for that, and counts nowhere.
func TestTestNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, other := newPeer(t, func(hook) outcome { return outcome{status: 500} }), newPeer(t, nil)
		w := newWorld(t, nil)
		sub := w.subscribe(p.host, ofTypes("a"))
		w.subscribe(other.host)
		var got struct {
			ID     string
			Status int
			Error  string
		}
		path := "/v1/subscriptions/" + sub + "/test"
		w.call("POST", path, http.StatusOK, &got)
		if got.Status != 500 || got.Error != "answered 500 Internal Server Error" {
			t.Errorf("of a receiver that is ill: %+v", got)
		}
		p.answers(nil)
		w.call("POST", path, http.StatusOK, &got)
		if h := p.hooks[len(p.hooks)-1]; got.Status != 200 || h.ids[0] != got.ID || h.keys[0] != "notifyd.test" {
			t.Errorf("answered %+v, sent %+v", got, h)
		}
		if s := w.d.api.Stats(2); len(p.hooks) != 2 || len(other.hooks) != 0 || s.Accepted+s.Attempts+int64(s.Seq) != 0 || s.Subscriptions[0].LastStatus != 0 {
			t.Errorf("%d and %d webhooks, stats %+v", len(p.hooks), len(other.hooks), s)
		}
		var bad struct{ Error string }
		w.call("POST", "/v1/subscriptions/none/test", http.StatusNotFound, &bad)
		w.stop()
	})
}
