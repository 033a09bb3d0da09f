package arena

import (
	"net/http"

	"dyno/parts/daemon"
	"dyno/services/arena/heartbeat"
)

// Beats is what an exhibit answers heartbeats with.
type Beats struct {
	Env       *daemon.Env
	Heartbeat *heartbeat.Heartbeat             // arenad's own handler, which remembers players
	Check     func(authorization string) error // what is wrong with a header; nil: none is needed
}

// Exchange makes another handler of POST /api/heartbeat, and what accepts the connections of
// Env.Listen before net/http; nil: nothing does. The token was checked before the handler, but not
// before the front.
type Exchange func(Beats) (http.Handler, daemon.Front, error)

// own is arenad's own.
func own(b Beats) (http.Handler, daemon.Front, error) { return b.Heartbeat, nil, nil }

// exchange has heartbeats answered.
func (s *server) exchange(with Exchange, env *daemon.Env) (http.Handler, daemon.Front, error) {
	b := Beats{Env: env, Heartbeat: s.beats}
	if s.keys != nil {
		b.Check = func(authorization string) error {
			_, err := s.checkBearer(authorization)
			return err
		}
	}
	return with(b)
}

// debugPresence answers GET /debug/arena/presence.
func (s *server) debugPresence(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"players": s.beats.Present(), "within_s": heartbeat.Window.Seconds()})
}
