package notifytest

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// ownSecret is one that a client brings.
var ownSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("thirty-two bytes of one's own ..."))

func showsSecretOnce(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	a, b := c.subscribe(r, "/a", nil), c.subscribe(r, "/b", map[string]any{"secret": ownSecret})
	if !strings.HasPrefix(a.Secret, "whsec_") || b.Secret != ownSecret || a.Secret == b.Secret {
		t.Errorf("secrets %q and %q", a.Secret, b.Secret)
	}
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	for _, path := range []string{"/v1/subscriptions", "/v1/subscriptions/" + a.ID, "/v1/subscriptions/" + b.ID, "/v1/stats"} {
		status, _, data := c.do("GET", path, "", "")
		if status != 200 || strings.Contains(string(data), "whsec") || strings.Contains(string(data), `"secret"`) {
			t.Errorf("GET %s: %d %s", path, status, data)
		}
	}
}

// rotates holds that for a while webhooks bear a signature by the old secret and one by the new.
// The receiver verifies by every secret that it knows.
func rotates(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	sub := c.subscribe(r, "/a", nil)
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	made := c.patch(sub.ID, map[string]any{"rotate_secret": true})
	if !strings.HasPrefix(made.Secret, "whsec_") || made.Secret == sub.Secret {
		t.Fatalf("rotated from %q to %q", sub.Secret, made.Secret)
	}
	r.know("/a", sub.Secret, made.Secret)
	c.post(one, notice("2", "k", "t", "1"))
	c.quiet()
	if own := c.patch(sub.ID, map[string]any{"secret": ownSecret}); own.Secret != ownSecret {
		t.Errorf("the secret given is %q", own.Secret)
	}
	r.know("/a", sub.Secret, made.Secret, ownSecret)
	c.post(one, notice("3", "k", "t", "1"))
	c.quiet()
	if got := get[subscription](c, "/v1/subscriptions/"+sub.ID); got.Secrets != 3 || got.Secret != "" {
		t.Errorf("%+v, want 3 secrets in force", got)
	}
	for i, h := range r.hooks() {
		if h.signed != i+1 {
			t.Errorf("webhook %d bears %d signatures", i+1, h.signed)
		}
	}
	if len(r.hooks()) != 3 {
		t.Errorf("%d webhooks", len(r.hooks()))
	}
}

// forgetsSecrets holds that an old secret signs nothing once the overlap is over.
func forgetsSecrets(t *testing.T, start Start) {
	l := limits
	l.Overlap = time.Millisecond
	c, r := open(t, start, l), newReceiver(t, nil)
	sub := c.subscribe(r, "/a", nil)
	r.know("/a", c.patch(sub.ID, map[string]any{"rotate_secret": true}).Secret)
	inForce := 0
	await(t,

		func() string { return "the old secret to be forgotten" }, func() bool {
			inForce = get[subscription](c, "/v1/subscriptions/"+sub.ID).Secrets
			return inForce == 1
		})

	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	if got := r.hooks(); len(got) != 1 || got[0].signed != 1 {
		t.Errorf("webhooks %+v", got)
	}
}
