package heartbeat

import "testing"

// usual is what a client sends.
var usual = []byte(`{"player_id":"player-123456"}`)

// What is read by hand is what encoding/json reads.
func FuzzScan(f *testing.F) {
	for _, r := range requests {
		f.Add([]byte(r.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		id, ok := scan(body)
		if !ok {
			return
		}
		want, err := decode(body)
		if err != nil || string(id) != want {
			t.Errorf("%q: by hand %q; encoding/json %q, %v", body, id, want, err)
		}
	})
}

// The forms that clients send are read by hand.
func TestScan(t *testing.T) {
	for _, body := range []string{string(usual), `{"player_id":"ada"}`, "{ \"player_id\": 17 }\n", `{"player_id":"5f0c-93"}`} {
		if _, ok := scan([]byte(body)); !ok {
			t.Errorf("%s is left to encoding/json", body)
		}
	}
}
