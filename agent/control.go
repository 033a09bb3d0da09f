package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
)

// Bounds of a control request. They stop mistakes (a limit given in MiB, a rate of minus one),
// not intent.
const (
	controlBytes   = 4 << 10 // a full Control takes less than 300 bytes
	maxGOGC        = 100_000 // percent
	minMemoryLimit = 1 << 20 // bytes; with less the process would only collect garbage
	maxProcs       = 1 << 10
)

func (a *Agent) serveControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, controlBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Errorf("a control request has at most %d bytes", controlBytes))
		return
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("reading the body: %w", err))
		return
	}
	c, err := decodeControl(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	before, err := a.Control(c)
	if err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	writeJSON(w, http.StatusOK, before)
}

// decodeControl parses and checks a request, so that it is carried out whole or not at all.
func decodeControl(body []byte) (Control, error) {
	var c Control
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Control{}, fmt.Errorf("not a control request: %w; one looks like {\"gogc\":400}", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Control{}, errors.New("there is more text after the control request")
	}
	return c, c.check()
}

func (c Control) check() error {
	if c.MutexFraction != nil && *c.MutexFraction < 0 {
		return fmt.Errorf("mutex_fraction is %d; it must be 0 (off) or more", *c.MutexFraction)
	}
	if c.BlockRate != nil && *c.BlockRate < 0 {
		return fmt.Errorf("block_rate is %d ns; it must be 0 (off) or more", *c.BlockRate)
	}
	if c.GOGC != nil && (*c.GOGC < -1 || *c.GOGC > maxGOGC) {
		return fmt.Errorf("gogc is %d; it must be -1 (off) to %d percent", *c.GOGC, maxGOGC)
	}
	if c.MemoryLimit != nil && *c.MemoryLimit < minMemoryLimit {
		return fmt.Errorf("memory_limit is %d; it counts bytes and must be at least %d", *c.MemoryLimit, minMemoryLimit)
	}
	if c.Procs != nil && (*c.Procs < 1 || *c.Procs > maxProcs) {
		return fmt.Errorf("gomaxprocs is %d; it must be 1 to %d", *c.Procs, maxProcs)
	}
	if f := c.FlightRecorder; f != nil && !(f.MinAge >= 0 && f.MinAge <= maxFlightAge) { // NaN compares false
		return fmt.Errorf("flight_recorder.min_age_s is %v; it must be 0 (off) to %d s", f.MinAge, maxFlightAge)
	}
	if f := c.FlightRecorder; f != nil && f.MaxBytes > maxFlightBytes {
		return fmt.Errorf("flight_recorder.max_bytes is %d; it must be 0 (the runtime's default) to %d", f.MaxBytes, maxFlightBytes)
	}
	return nil
}

// Control carries out a change and returns the previous values of the same fields: passing those
// to Control again restores them. The block rate before the first change is assumed to be 0,
// since the runtime has no getter for it. Once GOMAXPROCS has been set, it no longer follows the
// CPU limit of the container.
//
// If the flight recorder cannot be started, Control fails and changes nothing: the runtime allows
// one, and the service may have its own.
func (a *Agent) Control(c Control) (before Control, err error) {
	a.control.Lock()
	defer a.control.Unlock()
	if c.FlightRecorder != nil {
		was, err := a.setFlight(*c.FlightRecorder)
		if err != nil {
			return Control{}, err
		}
		before.FlightRecorder = &was
	}
	if c.MutexFraction != nil {
		before.MutexFraction = new(runtime.SetMutexProfileFraction(*c.MutexFraction))
	}
	if c.BlockRate != nil {
		before.BlockRate = new(a.blockRate)
		a.blockRate = *c.BlockRate
		runtime.SetBlockProfileRate(a.blockRate)
	}
	if c.GOGC != nil {
		before.GOGC = new(debug.SetGCPercent(*c.GOGC))
	}
	if c.MemoryLimit != nil {
		before.MemoryLimit = new(debug.SetMemoryLimit(*c.MemoryLimit))
	}
	if c.Procs != nil {
		before.Procs = new(runtime.GOMAXPROCS(*c.Procs))
	}
	return before, nil
}
