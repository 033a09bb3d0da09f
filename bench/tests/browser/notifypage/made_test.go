package notifypage_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/agent"
	"dyno/services/notify/page"
)

// hostile is what anybody may write into an address, a type or an error.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>&amp;"'`

type object = map[string]any

// made is a made-up API. Its state is changed with mu held.
type made struct {
	origin string

	mu            sync.Mutex
	down          bool
	asked         int // for v1/stats
	stats         object
	subscriptions []object
	letters       []object
	writes        []string // METHOD PATH BODY of what was not a GET
	failDelete    string   // why deleting fails; "": it does not
}

// subscription makes a row of v1/stats.
func subscription(id, state string, pending int, age float64) object {
	return object{"id": id, "url": "https://" + id + ".example/hook", "state": state, "accepted": 5000, "delivered": 5000 - pending,
		"retried": 0, "dead": 0, "refused": 0, "purged": 0, "pending": pending, "backlog": 0, "in_flight": 1,
		"oldest_age_seconds": age, "last_status": 200, "dead_letters": 0}
}

// letter makes a row of v1/dead.
func letter(of string, seq int) object {
	return object{"id": fmt.Sprint(of, "-", seq), "subscription": of, "seq": seq,
		"notice": object{"id": fmt.Sprint("n", seq), "key": "order-7", "type": "order.paid"},
		"reason": "8 attempts failed", "attempts": 8, "status": 500, "died": time.Now().Add(-3 * time.Minute).Format(time.RFC3339), "size": 300}
}

func newMade(t *testing.T) *made {
	m := &made{stats: object{"durable": true, "log": "segment", "seq": 53211, "accepted": 40_000, "delivered": 39_000, "retried": 120, "dead": 4,
		"refused": 0, "purged": 0, "pending": 996, "backlog": 700, "webhooks": 38_000, "oldest_age_seconds": 0, "workers": 256, "busy_workers": 41,
		"log_bytes": 1 << 30, "log_first_seq": 1001, "log_last_seq": 53211, "lost": 0}}
	api := http.NewServeMux()
	api.HandleFunc("GET /debug/notify/v1/stats", m.getStats)
	api.HandleFunc("GET /debug/notify/v1/dead", m.getDead)
	api.HandleFunc("GET /debug/notify/v1/dead/{id}", m.getLetter)
	api.HandleFunc("POST /debug/notify/v1/dead/{id}/replay", func(w http.ResponseWriter, r *http.Request) { m.change(w, r, http.StatusAccepted) })
	api.HandleFunc("DELETE /debug/notify/v1/dead/{id}", func(w http.ResponseWriter, r *http.Request) { m.change(w, r, http.StatusNoContent) })
	api.HandleFunc("POST /debug/notify/v1/subscriptions/{id}/test", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "sub_bad" {
			reply(w, http.StatusOK, object{"id": "test_1", "status": 0, "error": "connection refused", "seconds": 0.002})
			return
		}
		reply(w, http.StatusOK, object{"id": "test_2", "status": 204, "seconds": 1.5})
	})
	api.HandleFunc("POST /debug/notify/workers", m.setWorkers)
	api.Handle("GET /debug/notify/{$}", page.Handler())
	api.HandleFunc("GET /debug/notify/recent", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, object{"ages_s": []float64{}, "figures": [][]float64{}})
	})
	guarded := agent.NewGuard("").Wrap(api) // as the debug address does
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.down {
			panic(http.ErrAbortHandler) // as a process that ends
		}
		if r.Method != "GET" {
			body, _ := io.ReadAll(r.Body)
			m.writes = append(m.writes, r.Method+" "+r.URL.Path+" "+string(body))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		guarded.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	m.origin = server.URL
	return m
}

// set changes the state.
func (m *made) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *made) written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.writes...)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (m *made) getStats(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	m.asked++
	m.stats["accepted"] = m.stats["accepted"].(int) + 1000 + 200*(m.asked%5)
	m.stats["delivered"] = m.stats["delivered"].(int) + 1000 + 150*(m.asked%4)
	m.stats["retried"] = m.stats["retried"].(int) + 10*(m.asked%3)
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	found, states, oldest := []object{}, map[string]int{}, 0.0
	for _, s := range m.subscriptions {
		states[s["state"].(string)]++
		oldest = max(oldest, s["oldest_age_seconds"].(float64))
		if text := r.FormValue("q"); (r.FormValue("state") == "" || r.FormValue("state") == s["state"]) && strings.Contains(fmt.Sprint(s["id"], " ", s["url"], " ", s["types"]), text) {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b object) int {
		return cmp.Compare(b["oldest_age_seconds"].(float64), a["oldest_age_seconds"].(float64))
	})
	m.stats["states"], m.stats["matching"], m.stats["oldest_age_seconds"] = states, len(found), oldest
	found = found[min(offset, len(found)):]
	m.stats["subscriptions"] = found[:min(limit, len(found))]
	reply(w, http.StatusOK, m.stats)
}

func (m *made) getDead(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	out, after := []object{}, r.FormValue("after")
	next := ""
	for _, l := range m.letters {
		switch {
		case after != "":
			if l["id"] == after {
				after = ""
			}
		case r.FormValue("subscription") != "" && l["subscription"] != r.FormValue("subscription"):
		case len(out) == limit:
			next = out[limit-1]["id"].(string)
		default:
			out = append(out, l)
		}
	}
	answer := object{"dead": out}
	if next != "" {
		answer["next"] = next
	}
	reply(w, http.StatusOK, answer)
}

func (m *made) find(id string) int {
	for i, l := range m.letters {
		if l["id"] == id {
			return i
		}
	}
	return -1
}

func (m *made) getLetter(w http.ResponseWriter, r *http.Request) {
	i := m.find(r.PathValue("id"))
	if i < 0 {
		reply(w, http.StatusNotFound, object{"error": "no such dead letter"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q,"notice":{"id":"n","timestamp":"2026-05-04T12:00:00Z","payload":{"total":12345678901234567890,"note":%s}}}`,
		m.letters[i]["id"], must(json.Marshal(hostile)))
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// change replays a letter, or deletes it.
func (m *made) change(w http.ResponseWriter, r *http.Request, status int) {
	i := m.find(r.PathValue("id"))
	switch {
	case i < 0:
		reply(w, http.StatusNotFound, object{"error": "no such dead letter"})
		return
	case status == http.StatusAccepted:
		m.letters[i]["replaying"] = true
	case m.failDelete != "":
		reply(w, http.StatusInternalServerError, object{"error": m.failDelete})
		return
	default:
		m.letters = append(m.letters[:i:i], m.letters[i+1:]...)
	}
	w.WriteHeader(status)
}

func (m *made) setWorkers(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Workers int }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Workers > 4096 {
		reply(w, http.StatusBadRequest, object{"error": "workers: give 1 to 4096"})
		return
	}
	m.stats["workers"] = ask.Workers
	reply(w, http.StatusOK, object{"workers": ask.Workers})
}
