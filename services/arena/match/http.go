package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// Bounds of a request.
const (
	MaxName  = 32        // bytes
	MaxSkill = 1_000_000 // and -MaxSkill
	maxBody  = 1 << 10   // bytes
)

// request is the body of POST /v1/match: a player, or the ticket that it was given.
type request struct {
	Player
	Ticket string `json:"ticket"`
}

func (r request) check() error {
	switch {
	case r.Ticket != "" && (r.Name != "" || r.Skill != 0):
		return errors.New("give name and skill to begin, or the ticket to ask again, and not both")
	case r.Ticket != "":
		return nil
	case r.Name == "" || len(r.Name) > MaxName || !utf8.ValidString(r.Name):
		return fmt.Errorf("name must be text of 1 to %d bytes", MaxName)
	case r.Skill < -MaxSkill || r.Skill > MaxSkill:
		return fmt.Errorf("skill must be from %d to %d", -MaxSkill, MaxSkill)
	}
	return nil
}

// ServeHTTP answers POST /v1/match: 200 with a Place, or 202 with a ticket to send again after a
// second.
func (q *Queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in)
	if err != nil {
		err = fmt.Errorf(`the body must be {"name":TEXT,"skill":INTEGER} or {"ticket":TEXT}, of at most %d bytes`, maxBody)
	} else {
		err = in.check()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	var place *Place
	if in.Ticket == "" {
		place, in.Ticket, err = q.Ask(r.Context(), in.Player)
	} else {
		place, err = q.Poll(r.Context(), in.Ticket)
	}
	switch {
	case errors.Is(err, ErrFull):
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
	case err != nil:
		answer(w, http.StatusNotFound, map[string]string{"error": err.Error()})
	case place != nil:
		answer(w, http.StatusOK, place)
	default:
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusAccepted, map[string]string{"ticket": in.Ticket})
	}
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(what) // an error means that the client has gone
}
