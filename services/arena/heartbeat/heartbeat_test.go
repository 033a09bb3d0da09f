package heartbeat

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func record(h *Heartbeat, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/api/heartbeat", strings.NewReader(body)))
	return w
}

// requests are bodies with the status of their answers, and the players that they are of.
var requests = []struct {
	body   string
	status int
	player string
}{
	{`{"player_id":"ada"}`, 200, "ada"},
	{` { "player_id" : "ada" } ` + "\r\n\t", 200, "ada"},
	{`{"player_id":7}`, 200, "7"},
	{`{"player_id":0}`, 200, "0"},
	{`{"player_id":"7"}`, 200, "7"},
	{`{"player_id":-7.5e3}`, 200, "-7.5e3"},
	{`{"player_id":"a\u0064a"}`, 200, "ada"},
	{`{"player_id":"\"\\"}`, 200, `"\`},
	{`{"player_id":"Zoë"}`, 200, "Zoë"},
	{`{"Player_ID":"ada"}`, 200, "ada"}, // as encoding/json matches names
	{`{"player_id":"ada","player_id":"bob"}`, 200, "bob"},
	{`{"player_id":"` + strings.Repeat("x", maxID) + `"}`, 200, strings.Repeat("x", maxID)},
	{`{"player_id":"` + strings.Repeat("x", maxID+1) + `"}`, 400, ""},
	{`{"player_id":` + strings.Repeat("1", maxID+1) + `}`, 400, ""},
	{`{"player_id":"ada"}` + strings.Repeat(" ", maxBody-19), 200, "ada"},
	{`{"player_id":"ada"}` + strings.Repeat(" ", maxBody-18), 413, ""},
	{`{"player_id":"` + strings.Repeat("x", 3*maxBody) + `"}`, 413, ""},
	{``, 400, ""},
	{` `, 400, ""},
	{`{}`, 400, ""},
	{`{`, 400, ""},
	{`7`, 400, ""},
	{`null`, 400, ""},
	{`[]`, 400, ""},
	{`{"player_id":""}`, 400, ""},
	{`{"player_id":null}`, 400, ""},
	{`{"player_id":true}`, 400, ""},
	{`{"player_id":{"id":7}}`, 400, ""},
	{`{"player_id":07}`, 400, ""},
	{`{"player_id":7.}`, 400, ""},
	{`{"player_id":"a` + "\n" + `"}`, 400, ""},
	{`{"player_id":"ada"`, 400, ""},
	{`{"player_id":"ada}`, 400, ""},
	{`{"player_id":"ada",}`, 400, ""},
	{`{"player_id":"ada"}}`, 400, ""},
	{`{"player_id":"ada"}{"player_id":"ada"}`, 400, ""},
	{`{"player_id":"ada","room":"1"}`, 400, ""},
	{`{"room":"1"}`, 400, ""},
}

// Each request is answered in JSON, and its player remembered.
func TestAnswers(t *testing.T) {
	for _, r := range requests {
		h, began := New(Config{MaxPresent: 10}), time.Now().UnixMilli()
		w := record(h, r.body)
		var answer struct {
			ServerMs int64 `json:"server_ms"`
			Error    string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != r.status || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%.60q: status %d, want %d: %v in %q", r.body, w.Code, r.status, err, w.Body)
		}
		if ok := answer.ServerMs >= began && answer.ServerMs <= time.Now().UnixMilli() && answer.Error == ""; ok != (r.status == 200) || !ok && answer.Error == "" {
			t.Errorf("%.60q: %s", r.body, w.Body)
		}
		if r.player == "" && h.Present() != 0 {
			t.Errorf("%.60q: a player is present", r.body)
		}
		if r.player != "" && (h.Present() != 1 || !known(h, r.player)) {
			t.Errorf("%.60q: the player is not %q", r.body, r.player)
		}
	}
}

// known reports whether a player is the only one that is there.
func known(h *Heartbeat, id string) bool {
	h.Heard([]byte(id))
	return h.Present() == 1
}

// Players who beat concurrently are all remembered, each once.
func TestConcurrentRequests(t *testing.T) {
	const players, each = 8, 40
	h := New(Config{MaxPresent: 1000})
	var all sync.WaitGroup
	for p := range players {
		all.Go(func() {
			for range each {
				if w := record(h, fmt.Sprintf(`{"player_id":"%d"}`, p)); w.Code != 200 {
					t.Errorf("status %d: %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	all.Wait()
	if n := h.Present(); n != players {
		t.Errorf("%d players, not %d", n, players)
	}
}
