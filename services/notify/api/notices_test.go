package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"dyno/parts/refusal"
	"dyno/services/notify/notice"
)

// FuzzNotices: whatever a client sends is refused with a 4xx, or becomes notices whose webhooks
// carry the payloads byte for byte.
func FuzzNotices(f *testing.F) {
	for _, s := range []string{
		`{"id":"1","key":"k","type":"t","payload":{"a" : 1}}`, "{\"key\":\"k\",\"type\":\"t\"}\n\n{\"key\":\"k\",\"type\":\"t\",\"payload\":\"<\\u00e9>\"}\n",
		`{"key":"k"}`, ``, `[]`, `{"id":"\u0000","key":"k","type":"t"}`, `{"key":"k","type":"t"} x`, `{"key":"\ud800","type":"t","payload":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		notices, err := parseBatch(data, "")
		if err != nil {
			var r *refusal.Error
			if !errors.As(err, &r) || r.Status < 400 || r.Status > 499 || r.Text == "" {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if len(notices) == 0 {
			t.Fatalf("%q: no notices and no error", data)
		}
		for _, n := range notices {
			if n.ID == "" || n.Key == "" || n.Type == "" || len(n.ID) > notice.MaxName {
				t.Fatalf("%q: incomplete: %+v", data, n)
			}
			if len(n.Payload) > 0 && string(n.Payload) != "null" && !bytes.Contains(data, n.Payload) {
				t.Fatalf("%q: the payload changed to %q", data, n.Payload)
			}
			var envelope struct {
				Type string
				Data struct {
					ID, Key string
					Payload json.RawMessage
				}
			}
			body := n.AppendEnvelope(nil)
			if err := json.Unmarshal(body, &envelope); err != nil {
				t.Fatalf("%q: the webhook %q is no JSON: %v", data, body, err)
			}
			if back := envelope.Data; back.ID != n.ID || back.Key != n.Key || envelope.Type != n.Type || !bytes.Equal(back.Payload, bytes.TrimSpace(n.Payload)) {
				t.Fatalf("%q: the webhook %q says otherwise", data, body)
			}
		}
	})
}
