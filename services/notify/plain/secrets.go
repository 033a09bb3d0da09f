package main

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// secret is a key for signatures.
type secret struct {
	Key   []byte    `json:"key"`
	Until time.Time `json:"until,omitzero"` // zero: for good
}

const secretPrefix = "whsec_"

// changeSecret puts a new secret first; those before it go on signing for a while.
func (s *server) changeSecret(d *definition, ask subscriptionRequest) (string, *refusal) {
	var key []byte
	switch {
	case ask.Secret != nil:
		text, ok := strings.CutPrefix(*ask.Secret, secretPrefix)
		var err error
		key, err = base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return "", refuseField("secret", "give %s and 24 to 64 bytes in base64, or leave it out to have one made", secretPrefix)
		}
	case ask.RotateSecret:
		key = make([]byte, 32)
		rand.Read(key)
	default:
		return "", nil
	}
	now := time.Now().UTC()
	secrets := []secret{{Key: key}}
	for _, old := range d.inForce(now) {
		if old.Until.IsZero() {
			old.Until = now.Add(s.limits.overlap)
		}
		secrets = append(secrets, old)
	}
	if len(secrets) > maxSecrets {
		return "", refuse(http.StatusConflict, "%d secrets are in force already; wait until %v", maxSecrets, secrets[maxSecrets].Until)
	}
	d.Secrets = secrets
	return secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// inForce returns the secrets that sign at a time.
func (d *definition) inForce(now time.Time) (out []secret) {
	for _, one := range d.Secrets {
		if one.Until.IsZero() || now.Before(one.Until) {
			out = append(out, one)
		}
	}
	return out
}

// signer signs webhooks with one secret.
type signer struct {
	webhook *webhooks.Webhook
	until   time.Time // zero: for good
}

func newSigners(secrets []secret) []signer {
	var out []signer
	for _, secret := range secrets {
		webhook, _ := webhooks.NewWebhookRaw(secret.Key) // never fails
		out = append(out, signer{webhook, secret.Until})
	}
	return out
}

// sign returns the signatures by all secrets that are in force.
func sign(signers []signer, id string, now time.Time, body []byte) (string, error) {
	var all []string
	for _, s := range signers {
		if !s.until.IsZero() && now.After(s.until) {
			continue
		}
		one, err := s.webhook.Sign(id, now, body)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, " "), nil
}
