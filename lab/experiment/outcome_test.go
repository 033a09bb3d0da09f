package experiment

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/websocket/websockettest"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// An experiment with sessions that send nothing is complete if one of them received an expected
// frame.
func TestSessionsThatOnlyReceive(t *testing.T) {
	const every = 5 * time.Millisecond
	events := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range time.Tick(every) {
			if _, err := io.WriteString(w, "data: 7\n\n"); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}))
	defer events.Close()
	socket := websockettest.Serve(t, func(p *websockettest.Peer) {
		for range time.Tick(every) {
			if _, err := p.Write([]byte(websockettest.Text("7"))); err != nil {
				return
			}
		}
	})
	for _, address := range []string{events.URL, socket.String()} {
		for expect, want := range map[string]string{"[0-9]": record.OutcomeComplete, "never": record.OutcomeFailed} {
			sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: listening
mode: load
target: {url: "%s"}
load: {kind: sessions, url: "%s", sessions: 2, expect: {frames: {matches: "%s"}}}
measure: {length: 1s, warmup: 100ms}
`, strings.Replace(address, "ws:", "http:", 1), address, expect))
			if err != nil {
				t.Fatal(err)
			}
			exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
			if errors.Is(err, ErrNoSuccess) != (want == record.OutcomeFailed) || exp == nil {
				t.Fatal(err)
			}
			if o := exp.Outcome; o.Status != want || (want == record.OutcomeFailed) != strings.Contains(o.Reason, "no session received a frame") {
				t.Errorf("%s, %s: %+v", address, expect, o)
			}
		}
	}
}
