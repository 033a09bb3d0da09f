package dispatch

import (
	"fmt"
	"slices"
	"time"

	"dyno/parts/hostport"
	"dyno/parts/refusal"
	"dyno/services/notify/subscription"
	"dyno/services/notify/topic"
	"dyno/services/notify/webhook"
)

// Bounds of subscriptions.
const (
	MaxURL = 2048 // bytes

	maxSubscriptions = 100_000 // what one notice can fan out to
	maxWebhookBatch  = 1000    // notices of one webhook
	maxRate          = 1e6     // webhooks a second
	maxFilters       = 100     // changes of its types that earlier notices are still owed by
)

// SubscriptionRequest is what a client asks of a subscription. What a PATCH leaves out stays as it
// is.
type SubscriptionRequest struct {
	URL         *string   `json:"url"`
	Types       *[]string `json:"types"`         // none means all
	Secret      *string   `json:"secret"`        // whsec_...; of a new subscription "" or none means that one is made
	Rotate      bool      `json:"rotate_secret"` // in a PATCH, makes a new secret
	RatePerS    *float64  `json:"rate_per_s"`    // webhooks a second; 0 means no limit
	Concurrency *int      `json:"concurrency"`   // webhooks in flight; 0 means the default
	Batch       *int      `json:"batch"`         // most notices in one webhook; 0 means 1
	Disabled    *bool     `json:"disabled"`
}

// apply changes a definition as the client asks, or returns which field is wrong. It returns the
// new secret, if there is one.
func (r SubscriptionRequest) apply(def *subscription.Definition, overlap time.Duration) (secret string, err error) {
	if r.URL != nil {
		if def.URL, err = checkURL(*r.URL); err != nil {
			return "", err
		}
	}
	if r.Types != nil {
		if err := topic.Check(*r.Types); err != nil {
			return "", refusal.Field("types", "types: %v", err)
		}
		def.Types = slices.Clone(*r.Types)
	}
	if r.RatePerS != nil {
		if rate := *r.RatePerS; !(rate >= 0 && rate <= maxRate) {
			return "", refusal.Field("rate_per_s", "rate_per_s: give 0 (no limit) to %g webhooks a second", float64(maxRate))
		}
		def.RatePerS = *r.RatePerS
	}
	if r.Concurrency != nil {
		if *r.Concurrency < 0 || *r.Concurrency > maxConcurrency {
			return "", refusal.Field("concurrency", "concurrency: give 0 (the default, %d) to %d webhooks in flight", DefaultConcurrency, maxConcurrency)
		}
		def.Concurrency = *r.Concurrency
	}
	if r.Batch != nil {
		if *r.Batch < 0 || *r.Batch > maxWebhookBatch {
			return "", refusal.Field("batch", "batch: give 1 to %d notices a webhook", maxWebhookBatch)
		}
		def.Batch = *r.Batch
	}
	if r.Disabled != nil {
		def.Disabled = ""
		if *r.Disabled {
			def.Disabled = "by its owner"
		}
	}
	return r.applySecret(def, overlap)
}

func (r SubscriptionRequest) applySecret(def *subscription.Definition, overlap time.Duration) (secret string, err error) {
	if r.Secret != nil {
		secret = *r.Secret
	}
	switch {
	case secret != "" && r.Rotate:
		return "", refusal.Field("rotate_secret", "rotate_secret: makes a secret; leave secret out")
	case secret == "" && !r.Rotate && len(def.Secrets) > 0:
		return "", nil
	case secret == "":
		secret = webhook.NewSecret()
	}
	key, err := webhook.ParseSecret(secret)
	if err != nil {
		return "", err
	}
	def.Secrets = webhook.Rotate(def.Secrets, key, time.Now(), overlap)
	return secret, nil
}

func checkURL(text string) (string, error) {
	normal, err := hostport.Normal(text)
	if err == nil && len(normal) > MaxURL {
		err = fmt.Errorf("it has %d bytes, of %d at most", len(normal), MaxURL)
	}
	if err != nil {
		return "", refusal.Field("url", "url: give an http or https address, such as https://example.com/hooks: %v", err)
	}
	return normal, nil
}

// checkHost refuses early what the guard of webhooks would refuse later. A name is not resolved
// here: it may resolve to another address by then.
func checkHost(address string, allowPrivate bool) error {
	if err := hostport.CheckPublic(address, allowPrivate); err != nil {
		return refusal.Field("url", "url: %v", err)
	}
	return nil
}
