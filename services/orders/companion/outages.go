package companion

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"dyno/services/orders/postgres"
)

// outages takes the database down and up again when it is asked to over HTTP.
type outages struct {
	pg     *postgres.Server
	ctx    context.Context // of the command: an outage ends with it, not with the caller
	turn   chan struct{}   // capacity 1: holds an element during an outage
	failed chan error      // capacity 1: it did not come up again
}

// longestOutage bounds ?for=.
const longestOutage = 10 * time.Minute

func (o *outages) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		o.handle(w, r, func() error { return o.pg.Stop(o.ctx) })
	})
	mux.HandleFunc("POST /kill", func(w http.ResponseWriter, r *http.Request) { o.handle(w, r, o.pg.Kill) })
	return mux
}

func (o *outages) handle(w http.ResponseWriter, r *http.Request, end func() error) {
	wait, err := outageOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	default:
		http.Error(w, "another outage is under way; wait for its answer", http.StatusConflict)
		return
	}
	down, err := o.outage(wait, end)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"down_s": down.Seconds()})
}

func outageOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("for")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longestOutage {
		return 0, fmt.Errorf("for=%q: want a duration between 0s and %v, such as 2s", text, longestOutage)
	}
	return d, nil
}

// outage ends PostgreSQL, waits, and starts it again. It returns how long no client could connect,
// from the order to end.
func (o *outages) outage(wait time.Duration, end func() error) (time.Duration, error) {
	begun := time.Now()
	err := end()
	if err == nil {
		select {
		case <-time.After(wait):
		case <-o.ctx.Done():
			err = o.ctx.Err()
		}
	}
	if err == nil {
		err = o.pg.Restart(o.ctx)
	}
	if err != nil && o.ctx.Err() == nil { // else the command ends anyway
		select {
		case o.failed <- err:
		default:
		}
	}
	return time.Since(begun), err
}
