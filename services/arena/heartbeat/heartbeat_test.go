package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
)

var beats = []string{"std", "pooled", "hand", "workers", "loop"}

// serve serves a Heartbeat as arenad does, until the test ends.
func serve(t testing.TB, c Config) (url string, h *Heartbeat) {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h = New(c)
	mux := http.NewServeMux()
	mux.Handle("POST /api/heartbeat", h)
	var fronts []interface{ Drain(context.Context) error }
	if c.Beat == "loop" {
		f, err := NewFront(h, FrontOptions{Listener: l, Guard: g, ReadTimeout: servicetest.Patience, Fail: func(err error) { t.Error(err) }})
		if errors.Is(err, httploop.ErrUnsupported) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		fronts = append(fronts, f)
	}
	web := lameduck.NewServer(&http.Server{Handler: g.Wrap(mux, nil)}, l)
	fronts = append(fronts, web)
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
		defer cancel()
		for _, f := range fronts {
			if err := f.Drain(ctx); err != nil {
				t.Error(err)
			}
		}
		<-served
		h.Close()
	})
	return "http://" + l.Addr().String() + "/api/heartbeat", h
}

// client is of one test: its connections end with it.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func onEach(t *testing.T, test func(t *testing.T, beat string)) {
	for _, beat := range beats {
		t.Run(beat, func(t *testing.T) {
			t.Parallel()
			test(t, beat)
		})
	}
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

// Every way answers the same, to the text of an error, and remembers the same players.
func TestAnswers(t *testing.T) {
	texts := map[string]string{} // of errors, by body, as the first has them
	for _, r := range requests {
		if w := record(New(Config{MaxPresent: 1}), r.body); w.Code != 200 {
			texts[r.body] = w.Body.String()
		}
	}
	onEach(t, func(t *testing.T, beat string) {
		url, h := serve(t, Config{Beat: beat, MaxPresent: 10, Poison: true})
		c := client(t)
		for _, r := range requests {
			h.players.expire(time.Now().UnixMilli() + 1)
			began := time.Now().UnixMilli()
			resp, text, err := servicetest.Exchange(c, "POST", url, r.body, nil)
			if err != nil {
				t.Fatalf("%.60q: %v", r.body, err)
			}
			var answer struct {
				ServerMs int64 `json:"server_ms"`
				Error    string
			}
			if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != r.status || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%.60q: status %d, want %d: %v in %q", r.body, resp.StatusCode, r.status, err, text)
			}
			if ok := answer.ServerMs >= began && answer.ServerMs <= time.Now().UnixMilli() && answer.Error == ""; ok != (r.status == 200) || !ok && answer.Error == "" {
				t.Errorf("%.60q: %s", r.body, text)
			}
			if r.status == 400 && string(text) != texts[r.body] {
				t.Errorf("%.60q: %s, not %s", r.body, text, texts[r.body])
			}
			if r.player == "" && h.Present() != 0 {
				t.Errorf("%.60q: a player is present", r.body)
			}
			if r.player != "" && (h.Present() != 1 || !known(h, r.player)) {
				t.Errorf("%.60q: the player is not %q", r.body, r.player)
			}
		}
	})
}

// known reports whether a player is the only one that is there.
func known(h *Heartbeat, id string) bool {
	h.heard([]byte(id))
	return h.Present() == 1
}

// Players who beat concurrently are all remembered, each once, although all memory that is given
// back to a pool is overwritten.
func TestPoisonedMemory(t *testing.T) {
	const players, each = 8, 40
	onEach(t, func(t *testing.T, beat string) {
		url, h := serve(t, Config{Beat: beat, MaxPresent: 1000, Poison: true})
		c := client(t)
		c.Transport.(*http.Transport).MaxIdleConnsPerHost = players
		var all sync.WaitGroup
		for p := range players {
			all.Go(func() {
				for n := range each {
					body, status := fmt.Sprintf(`{"player_id":"%d"}`, 1000+p), 200
					if n%10 == 9 {
						body, status = `{"player_id":"`, 400
					}
					resp, text, err := servicetest.Exchange(c, "POST", url, body, nil)
					if err != nil || resp.StatusCode != status || !json.Valid(text) {
						t.Errorf("%s: %v, %q", body, err, text)
						return
					}
				}
			})
		}
		all.Wait()
		for p := range players {
			h.heard(fmt.Appendf(nil, "%d", 1000+p))
		}
		if n := h.Present(); n != players {
			t.Errorf("%d players, not %d", n, players)
		}
	})
}

// The front hands over what is not a heartbeat of a plain client, and the guard stays before it.
func TestFrontLeaves(t *testing.T) {
	url, h := serve(t, Config{Beat: "loop", MaxPresent: 10})
	c := client(t)
	for _, test := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"POST", "", nil, 200},
		{"POST", "", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"POST", "", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"PUT", "", nil, 405},
		{"POST", "/more", nil, 404},
		{"POST", "", http.Header{"Expect": {"100-continue"}}, 200},
	} {
		resp, text, err := servicetest.Exchange(c, test.method, url+test.path, `{"player_id":7}`, test.header)
		if err != nil || resp.StatusCode != test.status {
			t.Errorf("%+v: %v, %s", test, err, text)
		}
	}
	if n := h.Present(); n != 1 {
		t.Errorf("%d players", n)
	}
}

// Workers that have ended leave no request waiting.
func TestClosedWorkers(t *testing.T) {
	h := New(Config{Beat: "workers", MaxPresent: 10})
	h.Close()
	w := record(h, `{"player_id":7}`)
	for range 20 { // more than there is room for in the queue
		w = record(h, `{"player_id":7}`)
	}
	if w.Code != http.StatusServiceUnavailable || !json.Valid(w.Body.Bytes()) {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
}
