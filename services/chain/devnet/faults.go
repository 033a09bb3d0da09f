package devnet

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// Bounds of the durations of a fault.
const (
	longest = 10 * time.Minute
	slowest = 5 * time.Second
)

// mux answers what is asked for on the control address.
func (r *running) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /kill", r.fault("for", longest, r.kill))
	mux.HandleFunc("POST /slow", r.fault("by", slowest, r.slow))
	return mux
}

// fault reads a request for a fault: of which node, and a duration.
func (r *running) fault(name string, most time.Duration, do func(*node, time.Duration) error) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		d, err := time.Duration(0), error(nil)
		if text := req.URL.Query().Get(name); text != "" {
			if d, err = time.ParseDuration(text); err != nil || d < 0 || d > most {
				http.Error(w, fmt.Sprintf("%s=%.20s: want a duration up to %v, such as 500ms", name, text, most), http.StatusBadRequest)
				return
			}
		}
		n, err := r.find(req.Context(), req.URL.Query().Get("of"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		if err := do(n, d); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "node %s\n", n.name)
	}
}

// kill kills a node (SIGKILL), and starts it again after a while; 0: it stays down.
func (r *running) kill(n *node, after time.Duration) error {
	if !n.turn.TryLock() {
		return errTurn
	}
	defer n.turn.Unlock()
	if p := n.take(); p != nil {
		p.Kill()
	}
	if after == 0 {
		return nil
	}
	down := time.NewTimer(after)
	defer down.Stop()
	select {
	case <-down.C:
	case <-r.ctx.Done():
		return errors.New("the network ends")
	}
	err := n.start(r.ctx, r)
	if err != nil && r.ctx.Err() == nil {
		r.fail(err)
	}
	return err
}

var errTurn = errors.New("the node has a fault already: it is slow, or will be started again")

// slow has a node run only half of the time from now on, in pauses of a length, until the network
// ends.
func (r *running) slow(n *node, pause time.Duration) error {
	if pause < time.Millisecond {
		return errors.New("by=0: want the length of a pause, such as by=100ms")
	}
	if !n.turn.TryLock() {
		return errTurn
	}
	r.tasks.Go(func() {
		defer n.turn.Unlock()
		half := time.NewTicker(pause)
		defer half.Stop()
		for next := syscall.SIGSTOP; ; next = other(next) {
			if n.signal(next) != nil {
				return
			}
			select {
			case <-half.C:
			case <-r.ctx.Done():
				_ = n.signal(syscall.SIGCONT) // one that has ended needs none
				return
			}
		}
	})
	return nil
}

func other(s syscall.Signal) syscall.Signal {
	if s == syscall.SIGSTOP {
		return syscall.SIGCONT
	}
	return syscall.SIGSTOP
}
