package arena

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"dyno/services/arena/auth"
	"dyno/services/arena/match"
	"dyno/services/arena/room"
	"dyno/services/arena/wire"
)

// look is the time between two looks whether those who are here may be here still.
const look = time.Second

// bearer returns the claims in the token of a request, where tokens are asked; false: it has
// answered that there is none.
func (s *server) bearer(w http.ResponseWriter, r *http.Request) (auth.Claims, bool) {
	if s.keys == nil {
		return auth.Claims{}, true
	}
	grant, err := s.checkBearer(strings.Join(r.Header.Values("Authorization"), ", ")) // of two, neither counts
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		answer(w, http.StatusUnauthorized, problem{err.Error()})
	}
	return grant.Claims, err == nil
}

// authorised serves requests with a token, where tokens are asked.
func (s *server) authorised(next http.Handler) http.Handler {
	if s.keys == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.bearer(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// checkBearer checks the token in an Authorization header. The scheme may be in any case (RFC 9110,
// section 11.1).
func (all *sessions) checkBearer(authorization string) (auth.Grant, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	grant, err := all.keys.Check(strings.TrimSpace(token), time.Now())
	if err != nil {
		err = fmt.Errorf("this needs a token, as in Authorization: Bearer TOKEN (arenad token): %w", err)
	}
	return grant, err
}

// permit checks the token of a Join, where tokens are asked, and returns the player's name.
func (s *session) permit(j *wire.Join) (name string, err error) {
	all := s.sessions
	if all.keys == nil {
		return j.Name, nil
	}
	grant, err := all.keys.Check(j.Token, time.Now())
	if err != nil {
		return "", unauthorized(err)
	}
	s.client.Access = access(grant)
	return grant.Name, nil
}

// permitted returns what lets a player in that a place was held for.
func (all *sessions) permitted(p match.Player) room.Access {
	if all.keys == nil {
		return nil
	}
	return access(all.keys.Grant(p.Until))
}

func access(g auth.Grant) room.Access {
	return func() error {
		if err := g.Lasts(time.Now()); err != nil {
			return unauthorized(err)
		}
		return nil
	}
}

func unauthorized(err error) error { return &refusal{"unauthorized", err.Error()} }

// watch has look watch a session that has joined.
func (s *session) watch() {
	if s.client.Access != nil {
		s.access.Store(&s.client.Access)
	}
}

// look ends the sessions that may not go on: their token has expired, or the key was replaced.
// Places that are held by the old key are given back.
func (all *sessions) look() {
	if all.keys == nil {
		return
	}
	if key := all.keys.Current(); key != all.key {
		all.key = key
		for _, r := range all.all() {
			r.Forget()
		}
	}
	all.each(func(s *session) {
		if may := s.access.Load(); may != nil {
			if err := (*may)(); err != nil {
				s.access.Store(nil)
				all.tasks.Go(func() { s.end(err) }) // its reader finds that, and leaves the room
			}
		}
	})
}
