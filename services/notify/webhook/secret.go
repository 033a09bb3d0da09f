package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"dyno/parts/refusal"
	"dyno/services/notify/subscription"
)

const secretPrefix = "whsec_"

// NewSecret makes a secret of 32 random bytes.
func NewSecret() string {
	key := make([]byte, 32)
	rand.Read(key)
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// ParseSecret reads a secret, whsec_ and base64.
func ParseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, refusal.Field("secret", "secret: give %s and 24 to 64 bytes in base64, or leave it out to have one made", secretPrefix)
	}
	return key, nil
}

// maxSecrets bounds the signatures of one webhook.
const maxSecrets = 4

// Rotate puts a new key first. The others go on signing until overlap has passed. Of too many the
// oldest stays: the answers with the keys after it may have been lost, and the receiver has it.
func Rotate(secrets []subscription.Secret, key []byte, now time.Time, overlap time.Duration) []subscription.Secret {
	out := []subscription.Secret{{Key: key}}
	for _, s := range secrets {
		if s.Until.IsZero() || s.Until.After(now.Add(overlap)) {
			s.Until = now.Add(overlap)
		}
		if !s.Until.After(now) {
			continue
		}
		if len(out) == maxSecrets {
			out = out[:maxSecrets-1]
		}
		out = append(out, s)
	}
	return out
}

// keyring signs with a subscription's secrets. It does not change.
type keyring struct {
	keys []key
}

type key struct {
	webhook *webhooks.Webhook
	secret  subscription.Secret
}

func newKeyring(secrets []subscription.Secret) (*keyring, error) {
	r := new(keyring)
	for _, s := range secrets {
		webhook, err := webhooks.NewWebhookRaw(s.Key)
		if err != nil {
			return nil, err
		}
		r.keys = append(r.keys, key{webhook, s})
	}
	return r, nil
}

// inForce lists the keys that sign at a time.
func (r *keyring) inForce(now time.Time) (out []*webhooks.Webhook) {
	for _, k := range r.keys {
		if k.secret.InForce(now) {
			out = append(out, k.webhook)
		}
	}
	return out
}
