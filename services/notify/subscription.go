package notify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxSubscriptions bounds what one notice can fan out to.
const maxSubscriptions = 100_000

// maxWebhookBatch bounds the notices of one webhook.
const maxWebhookBatch = 1000

// subscription is one receiver of notices.
type subscription struct {
	id    string
	url   *url.URL
	types []string // none: all
	batch int      // most notices it takes in one webhook

	disabled atomic.Bool // it answered 410 Gone, or was deleted; set with mu held

	request *http.Request // what every webhook to it has in common
	webhook *webhooks.Webhook
	signers sync.Pool // of *signer

	mu     sync.Mutex // guards the fields below
	lanes  map[string]*lane
	ages   ages
	counts counts
	gather gathering
}

// counts are per (notice, subscription). Accepted equals Delivered + Dead + what is pending.
type counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`    // given up: all attempts failed, or the subscription has gone
	Refused   int64 `json:"refused"` // answered 429
}

func (c *counts) add(o counts) {
	c.Accepted += o.Accepted
	c.Delivered += o.Delivered
	c.Retried += o.Retried
	c.Dead += o.Dead
	c.Refused += o.Refused
}

// newSubscription checks what a client asked for. The secret is kept as a key only.
func newSubscription(ask subscriptionRequest) (*subscription, error) {
	if len(ask.Types) > 100 {
		return nil, errors.New("types: give at most 100, or none for all")
	}
	if ask.Batch < 0 || ask.Batch > maxWebhookBatch {
		return nil, errors.New("batch: give 1 to 1000 notices per webhook")
	}
	u, err := url.Parse(ask.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("url: give an http or https address without user and password")
	}
	key, err := parseSecret(ask.Secret)
	if err != nil {
		return nil, err
	}
	webhook, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}
	sub := &subscription{
		id: "sub_" + rand.Text(), url: u, types: ask.Types, batch: max(ask.Batch, 1),
		webhook: webhook, lanes: map[string]*lane{},
	}
	sub.request = &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	sub.signers.New = func() any { return &signer{keyed: hmac.New(sha256.New, key)} }
	sub.gather.token = &lane{sub: sub, hash: maphash.String(hashSeed, sub.id)}
	return sub, nil
}

const secretPrefix = "whsec_"

// newSecret makes a secret of 32 random bytes.
func newSecret() string {
	key := make([]byte, 32)
	rand.Read(key)
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

func parseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("secret: give whsec_ and 24 to 64 bytes in base64, or leave it out to have one made")
	}
	return key, nil
}

func (sub *subscription) wants(n *notice) bool {
	return len(sub.types) == 0 || slices.Contains(sub.types, n.Type)
}

// pending counts what is in the lanes. The caller holds mu.
func (sub *subscription) pending() (n int) {
	for _, l := range sub.lanes {
		n += l.n
	}
	return n
}

// oldest is when the oldest pending notice was accepted; ok is false when there is none.
func (sub *subscription) oldest() (accepted int64, ok bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if it := sub.ages.oldest; it != nil {
		return it.accepted, true
	}
	return 0, false
}

// stopTimers ends the waiting of parked lanes.
func (sub *subscription) stopTimers() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	for _, l := range sub.lanes {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}
