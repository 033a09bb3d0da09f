package arena

import (
	"errors"
	"net"
	"net/http"

	"dyno/parts/daemon"
	"dyno/parts/httploop"
	"dyno/services/arena/heartbeat"
)

// openFront opens the event loop if the assembly has it, and the listener permits it.
func (s *server) openFront(c Config, env *daemon.Env) (*heartbeat.Front, error) {
	switch {
	case c.Heartbeat.Beat != "loop":
		return nil, nil
	case env.Listen != net.Listener(env.Connections):
		env.Log.Info("net/http reads all requests, as the event loop (beat=loop) does not speak TLS")
		return nil, nil
	case env.Tracer != nil: // net/http's handler makes the spans of requests
		return nil, nil
	}
	o := heartbeat.FrontOptions{Listener: env.Connections, Guard: env.Guard, ReadTimeout: env.ReadTimeout, Fail: env.Fail, Log: env.Log}
	if s.keys != nil {
		o.Check = func(authorization string) error {
			_, err := s.checkBearer(authorization)
			return err
		}
	}
	front, err := heartbeat.NewFront(s.beats, o)
	if errors.Is(err, httploop.ErrUnsupported) {
		env.Log.Info("net/http reads all requests, as there is no event loop (beat=loop) on this system")
		return nil, nil
	}
	return front, err
}

// debugPresence answers GET /debug/arena/presence.
func (s *server) debugPresence(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"players": s.beats.Present(), "within_s": heartbeat.Window.Seconds()})
}
