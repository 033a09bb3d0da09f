// Arena-plain is the game server as one writes it on the first day: coder/websocket, a goroutine a
// room with a mutex around its map of players, and the whole state in Protobuf to each of them in
// each tick. It is step 0 of arenad's ladder and does what the ladder's load needs
// (arenatest/core), so that the cost of arenad's seams shows. It shares the rules of the game and
// the wire with arenad, and nothing else.
//
// It is not for production: it knows neither tokens nor recordings, and ends with all rooms.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"dyno/agent"
	"dyno/parts/standalone"
)

func main() {
	standalone.Main("arena-plain", func(ctx context.Context, inside *agent.Agent) (standalone.Service, error) {
		h := newHall()
		inside.Gauge("arena_connections", func() float64 { return float64(h.connections.Load()) })
		web := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
		return standalone.Service{Server: web, Close: h.close}, nil
	})
}

func (h *hall) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", h.serveSocket)
	mux.HandleFunc("GET /v1/rooms", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, h.list()) })
	mux.HandleFunc("POST /v1/rooms", func(w http.ResponseWriter, r *http.Request) {
		in := options{Capacity: maxPlayers, Seed: 1}
		if !read(w, r, &in) {
			return
		}
		id, err := h.create(in)
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]string{"id": id})
	})
	mux.HandleFunc("POST /api/heartbeat", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any // it does not matter whose
		if read(w, r, &in) {
			answer(w, http.StatusOK, map[string]int64{"server_ms": time.Now().UnixMilli()})
		}
	})
	return mux
}

// read reads a request's JSON. If it cannot, it answers why and returns false.
func read(w http.ResponseWriter, r *http.Request, to any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(to)
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "the body is not the JSON of this request: " + err.Error()})
	}
	return err == nil
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(what) // an error means that the client has gone
}
