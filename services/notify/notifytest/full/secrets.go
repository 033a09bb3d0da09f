package full

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// ownSecret is one that a client brings.
var ownSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("thirty-two bytes of one's own ..."))

func showsSecretOnce(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	a, b := c.Subscribe(r, "/a", nil), c.Subscribe(r, "/b", map[string]any{"secret": ownSecret})
	if !strings.HasPrefix(a.Secret, "whsec_") || b.Secret != ownSecret || a.Secret == b.Secret {
		t.Errorf("secrets %q and %q", a.Secret, b.Secret)
	}
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	for _, path := range []string{"/v1/subscriptions", "/v1/subscriptions/" + a.ID, "/v1/subscriptions/" + b.ID, "/v1/stats"} {
		status, _, data := c.Do("GET", path, "", "")
		if status != 200 || strings.Contains(string(data), "whsec") || strings.Contains(string(data), `"secret"`) {
			t.Errorf("GET %s: %d %s", path, status, data)
		}
	}
}

// rotates holds that for a while webhooks bear a signature by the old secret and one by the new.
// The receiver verifies by every secret that it knows.
func rotates(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	sub := c.Subscribe(r, "/a", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	made := c.Patch(sub.ID, map[string]any{"rotate_secret": true})
	if !strings.HasPrefix(made.Secret, "whsec_") || made.Secret == sub.Secret {
		t.Fatalf("rotated from %q to %q", sub.Secret, made.Secret)
	}
	r.Know("/a", sub.Secret, made.Secret)
	c.Post(notifytest.One, notifytest.Notice("2", "k", "t", "1"))
	c.Quiet()
	if own := c.Patch(sub.ID, map[string]any{"secret": ownSecret}); own.Secret != ownSecret {
		t.Errorf("the secret given is %q", own.Secret)
	}
	r.Know("/a", sub.Secret, made.Secret, ownSecret)
	c.Post(notifytest.One, notifytest.Notice("3", "k", "t", "1"))
	c.Quiet()
	if got := notifytest.Get[notifytest.Subscription](c, "/v1/subscriptions/"+sub.ID); got.Secrets != 3 || got.Secret != "" {
		t.Errorf("%+v, want 3 secrets in force", got)
	}
	for i, h := range r.Hooks() {
		if h.Signed != i+1 {
			t.Errorf("webhook %d bears %d signatures", i+1, h.Signed)
		}
	}
	if len(r.Hooks()) != 3 {
		t.Errorf("%d webhooks", len(r.Hooks()))
	}
}

// forgetsSecrets holds that an old secret signs nothing once the overlap is over.
func forgetsSecrets(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Overlap = time.Millisecond
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, nil)
	sub := c.Subscribe(r, "/a", nil)
	r.Know("/a", c.Patch(sub.ID, map[string]any{"rotate_secret": true}).Secret)
	inForce := 0
	servicetest.Await(t, func() string { return "the old secret to be forgotten" }, func() bool {
		inForce = notifytest.Get[notifytest.Subscription](c, "/v1/subscriptions/"+sub.ID).Secrets
		return inForce == 1
	})

	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	if got := r.Hooks(); len(got) != 1 || got[0].Signed != 1 {
		t.Errorf("webhooks %+v", got)
	}
}
