package webhook

import (
	"testing"
	"time"

	"dyno/services/notify/subscription"
)

// A client whose answers are lost rotates again and again: the secret that its receiver has signs
// until its time is over, and the newest does.
func TestRotateKeepsTheReceiversSecret(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	secrets := []subscription.Secret{{Key: []byte("first")}}
	for i := range 3 * maxSecrets {
		key := []byte{byte(i)}
		secrets = Rotate(secrets, key, now.Add(time.Duration(i)*time.Second), time.Minute)
		last := secrets[len(secrets)-1]
		if len(secrets) > maxSecrets || string(secrets[0].Key) != string(key) || string(last.Key) != "first" || !last.Until.Equal(now.Add(time.Minute)) {
			t.Fatalf("after %d rotations: %+v", i+1, secrets)
		}
	}
	for _, s := range Rotate(secrets, []byte("late"), now.Add(time.Minute), time.Minute) {
		if string(s.Key) == "first" {
			t.Error("it signs for longer than that")
		}
	}
}
