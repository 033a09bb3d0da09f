package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/trace"
	"strconv"
	"sync"
	"time"
)

const (
	maxFlightAge   = 60       // s; a busy service fills maxFlightBytes long before
	maxFlightBytes = 64 << 20 // bytes of the service's memory
	flightBytes    = 10 << 20 // default in bytes, which is the runtime's

	defaultTrace = 500 * time.Millisecond
	maxTrace     = 5 * time.Second // a busy service writes 10 MB of trace per second and more

	// answerTimeout bounds the time that a client takes to read a trace, beyond the trace itself.
	answerTimeout = 10 * time.Second
)

var errNoFlight = errors.New(`the flight recorder is off; POST {"flight_recorder":{"min_age_s":5}} to ` + PathControl + " switches it on")

// flight is the flight recorder; the runtime allows one.
type flight struct {
	reading  sync.Mutex // held while one window is in memory, until its client has read it; taken before mu
	mu       sync.Mutex // the recorder's methods are not safe for concurrent use
	recorder *trace.FlightRecorder
	setting  FlightRecorder
	kept     []byte // a window, until the next setting; nil: none
}

// KeepFlight copies the flight recorder's window, for the service to call when something unexpected
// has happened: the copy stays at PathKept when the recorder has long moved on. Only the first since
// the recorder was set is kept, since later ones show consequences: kept is false for the others. It
// takes as much memory as the window (FlightRecorder.MaxBytes). It is an error if the recorder is off.
func (a *Agent) KeepFlight() (kept bool, err error) {
	f := &a.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept != nil {
		return false, nil
	}
	if f.recorder == nil {
		return false, errNoFlight
	}
	var window bytes.Buffer
	if _, err := f.recorder.WriteTo(&window); err != nil {
		return false, err
	}
	f.kept = bytes.Clone(window.Bytes()) // without the buffer's spare room
	return true, nil
}

// serveKept answers with the window that KeepFlight has kept.
func (a *Agent) serveKept(w http.ResponseWriter, r *http.Request) {
	a.flight.mu.Lock()
	kept := a.flight.kept
	a.flight.mu.Unlock()
	if kept == nil {
		writeError(w, http.StatusNotFound, errors.New("no window of the flight recorder is kept: nothing has happened since it was set, or it is off; GET "+PathFlight+" is what it holds now"))
		return
	}
	announceTrace(w, 0)
	if r.Method != http.MethodHead {
		w.Write(kept) // an error means that the client has gone
	}
}

// setFlight switches the flight recorder on, to another setting, or off, and returns the previous
// setting. It fails if the service has a recorder of its own running.
func (a *Agent) setFlight(to FlightRecorder) (before FlightRecorder, err error) {
	a.flight.mu.Lock()
	defer a.flight.mu.Unlock()
	before = a.flight.setting
	a.flight.kept = nil
	if a.flight.recorder != nil {
		a.flight.recorder.Stop()
		a.flight.recorder, a.flight.setting = nil, FlightRecorder{}
		a.endProfile()
	}
	if to.MinAge == 0 {
		return before, nil
	}
	if to.MaxBytes == 0 {
		to.MaxBytes = flightBytes
	}
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{
		MinAge:   time.Duration(to.MinAge * float64(time.Second)),
		MaxBytes: to.MaxBytes,
	})
	if err := recorder.Start(); err != nil {
		return before, fmt.Errorf("starting the flight recorder: %w", err)
	}
	a.flight.recorder, a.flight.setting = recorder, to
	a.beginProfile()
	return before, nil
}

// serveFlight answers with the flight recorder's window. A slow client delays other readers, for
// answerTimeout at most, but no request that switches the recorder.
func (a *Agent) serveFlight(w http.ResponseWriter, r *http.Request) {
	a.flight.reading.Lock()
	defer a.flight.reading.Unlock()
	window, err := a.flight.window(r.Method == http.MethodHead)
	switch {
	case errors.Is(err, errNoFlight):
		writeError(w, http.StatusConflict, err)
		return
	case err != nil:
		writeError(w, http.StatusInternalServerError, fmt.Errorf("reading the flight recorder: %w", err))
		return
	}
	announceTrace(w, 0)
	window.WriteTo(w) // an error means that the client has gone
}

// window returns the recorder's content, at most some maxFlightBytes; for a probe, nothing.
func (f *flight) window(probe bool) (*bytes.Buffer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	window := &bytes.Buffer{}
	if f.recorder == nil {
		return nil, errNoFlight
	}
	if probe {
		return window, nil
	}
	_, err := f.recorder.WriteTo(window)
	return window, err
}

// serveTrace answers with an execution trace of the requested length.
func (a *Agent) serveTrace(w http.ResponseWriter, r *http.Request) {
	length, err := traceLength(r.FormValue("seconds"))
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	announceTrace(w, length)
	if r.Method == http.MethodHead {
		return
	}
	a.beginProfile() // before it starts, or a sample just then would miss it
	if err := trace.Start(w); err != nil {
		a.profiles.Add(-1) // the trace did not start
		w.Header().Del("Content-Disposition")
		writeError(w, http.StatusConflict, fmt.Errorf("%w; try again when that trace has ended", err))
		return
	}
	defer a.endProfile()
	ctx, cancel := context.WithTimeout(r.Context(), length)
	defer cancel()
	<-ctx.Done()
	trace.Stop()
}

func traceLength(seconds string) (time.Duration, error) {
	if seconds == "" {
		return defaultTrace, nil
	}
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !(s > 0 && s <= maxTrace.Seconds()) { // NaN compares false
		return 0, fmt.Errorf("seconds=%.20q: a trace takes more than 0 and at most %v s, as in seconds=%v", seconds, maxTrace.Seconds(), defaultTrace.Seconds())
	}
	return time.Duration(s * float64(time.Second)), nil
}

// announceTrace sets the headers of a trace and bounds the time until the client has read it.
func announceTrace(w http.ResponseWriter, length time.Duration) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="trace"`)
	// A writer without deadlines still ends with its connection.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(length + answerTimeout))
}
