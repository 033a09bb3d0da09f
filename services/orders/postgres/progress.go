package postgres

import (
	"fmt"
	"io"
	"time"
)

// progress informs people about slow steps.
type progress struct{ to io.Writer }

func (p progress) line(format string, args ...any) {
	if p.to != nil {
		fmt.Fprintf(p.to, "postgres: "+format+"\n", args...) // best effort: the reader may be gone
	}
}

// quiet is how long something may take before it is worth a line, and then between lines.
const quiet = 5 * time.Second

// waiting is something that may take long. It is silent when it does not.
type waiting struct {
	progress
	what        string
	begun, told time.Time
	spoke       bool
}

func (p progress) begin(what string) *waiting {
	now := time.Now()
	return &waiting{progress: p, what: what, begun: now, told: now}
}

// tick says how long it has been, every 5 s.
func (w *waiting) tick() {
	if time.Since(w.told) >= quiet {
		w.told, w.spoke = time.Now(), true
		w.line("%s, for %v so far", w.what, w.elapsed())
	}
}

func (w *waiting) end() {
	if w.spoke {
		w.line("%s: over after %v", w.what, w.elapsed())
	}
}

func (w *waiting) elapsed() time.Duration { return time.Since(w.begun).Round(100 * time.Millisecond) }

// every has it tick until stop is called.
func (w *waiting) every(period time.Duration) (stop func()) {
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(period)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				w.tick()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-stopped
	}
}
