package arena

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"

	"dyno/parts/unrouted"
	"dyno/services/arena/game"
	"dyno/services/arena/match"
	"dyno/services/arena/page"
)

const maxBody = 4 << 10 // bytes of a request

// problem is the JSON of an error.
type problem struct {
	Error string `json:"error"`
}

func rand64() uint64 { return rand.Uint64() }

func (s *server) handler(beats http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /ws", s.sessions)
	mux.HandleFunc("GET /v1/rooms", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.rooms()) })
	mux.Handle("GET /v1/players/{name}", s.authorised(http.HandlerFunc(s.find)))
	mux.Handle("POST /v1/rooms", s.authorised(http.HandlerFunc(s.create)))
	mux.HandleFunc("POST /v1/match", s.match)
	mux.Handle("POST /api/heartbeat", s.authorised(beats))
	mux.Handle("GET /{$}", page.Handler())
	mux.Handle("GET /{file}", page.Handler())
	unrouted.Refuse(mux, func(w http.ResponseWriter, status int, text string) { answer(w, status, problem{text}) })
	return mux
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	in := asked{Capacity: defaultCapacity, Seed: rand64()}
	if !read(w, r, &in) {
		return
	}
	made, err := s.lobby.create(in)
	switch many := (errTooMany{}); {
	case errors.As(err, &many):
		w.Header().Set("Retry-After", "60")
		answer(w, http.StatusServiceUnavailable, problem{err.Error()})
	case err != nil:
		answer(w, http.StatusBadRequest, problem{err.Error()})
	default:
		answer(w, http.StatusOK, map[string]string{"id": made.ID})
	}
}

// match answers POST /v1/match: a room and the token to join it with, or a ticket to ask again
// with.
func (s *server) match(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name   string `json:"name"`
		Skill  int    `json:"skill"`
		Ticket string `json:"ticket"`
	}
	claims, ok := s.bearer(w, r)
	if !ok || !read(w, r, &in) {
		return
	}
	ticket := in.Ticket
	var place *match.Place
	var err error
	if ticket == "" {
		p := match.Player{Name: cmp.Or(claims.Name, in.Name), Skill: in.Skill, Until: int64(claims.Exp)}
		if err := p.Check(); err != nil {
			answer(w, http.StatusBadRequest, problem{err.Error()})
			return
		}
		place, ticket, err = s.queue.Ask(r.Context(), p)
	} else {
		place, err = s.queue.Poll(r.Context(), ticket)
	}
	switch {
	case errors.Is(err, match.ErrFull):
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, problem{err.Error()})
	case errors.Is(err, match.ErrNoTicket):
		answer(w, http.StatusNotFound, problem{err.Error()})
	case err != nil:
		answer(w, http.StatusServiceUnavailable, problem{err.Error()})
	case place == nil:
		answer(w, http.StatusAccepted, map[string]string{"ticket": ticket})
	default:
		answer(w, http.StatusOK, place)
	}
}

// read reads a request's JSON. If it cannot, it answers why and returns false.
func read(w http.ResponseWriter, r *http.Request, to any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&to)
	if err == nil && to == nil {
		err = errors.New("it is null")
	}
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("there is more after it")
	}
	if err == nil {
		return true
	}
	status, large := http.StatusBadRequest, (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty")
	}
	answer(w, status, problem{"the body is not the JSON of this request: " + err.Error()})
	return false
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer is no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// debugState is a state on the debug address.
type debugState struct {
	Tick     uint32        `json:"tick"`
	Hash     string        `json:"hash"`
	Entities []debugEntity `json:"entities"`
}

type debugEntity struct {
	ID    uint32 `json:"id"`
	X     int32  `json:"x"`
	Y     int32  `json:"y"`
	Dir   uint32 `json:"dir"`
	HP    uint32 `json:"hp"`
	Score uint32 `json:"score"`
}

// debugRoom answers GET /debug/arena/rooms/{id}[?tick=N].
func (s *server) debugRoom(w http.ResponseWriter, r *http.Request) {
	found := s.room(r.PathValue("id"))
	if found == nil {
		answer(w, http.StatusNotFound, problem{"there is no such room; GET /v1/rooms of the public address lists those there are"})
		return
	}
	tick := uint64(0)
	if text := r.URL.Query().Get("tick"); text != "" {
		var err error
		if tick, err = strconv.ParseUint(text, 10, 32); err != nil {
			answer(w, http.StatusBadRequest, problem{fmt.Sprintf("tick %.20q is no number of a tick", text)})
			return
		}
	}
	state, ok := found.State(uint32(tick))
	if !ok {
		answer(w, http.StatusNotFound, problem{fmt.Sprintf("tick %d is not one of the last 10 s; the last is %d", tick, found.Tick())})
		return
	}
	out := debugState{state.Tick, fmt.Sprintf("%016x", state.Hash), []debugEntity{}}
	for _, e := range state.Entities {
		out.Entities = append(out.Entities, debugEntity(game.Entity(e)))
	}
	answer(w, http.StatusOK, out)
}
