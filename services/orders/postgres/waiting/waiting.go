// Package waiting waits for slow steps, and reports to people those that take long.
//
// It is not for the progress of a job, of which the end is known (that is parts/progress). Its only
// goroutine is that of While, which ends with the function that While returns.
package waiting

import (
	"context"
	"fmt"
	"io"
	"time"
)

// poll is the time between two looks at something that takes from 0.1 s to minutes.
const poll = 20 * time.Millisecond

// quiet is how long something may take before it is worth a line, and then between lines.
const quiet = 5 * time.Second

// Reporter writes lines for people. A nil writer: none.
type Reporter struct{ To io.Writer }

// Line writes a line.
func (r Reporter) Line(format string, args ...any) {
	if r.To != nil {
		fmt.Fprintf(r.To, "postgres: "+format+"\n", args...) // best effort: the reader may be gone
	}
}

// For calls done every 20 ms until it returns true or an error, and returns the error, or that of
// ctx when that ends before. It writes a line every 5 s, and one at the end if there were others.
func (r Reporter) For(ctx context.Context, what string, done func() (bool, error)) error {
	begun := time.Now()
	spoke := begun
	defer func() {
		if spoke != begun {
			r.Line("%s: over after %v", what, Since(begun))
		}
	}()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Since(spoke) >= quiet {
			spoke = time.Now()
			r.Line("%s, for %v so far", what, Since(begun))
		}
		if err := Pause(ctx, poll); err != nil {
			return err
		}
	}
}

// While writes a line every 5 s until stop is called.
func (r Reporter) While(what string) (stop func()) {
	begun := time.Now()
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(quiet)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				r.Line("%s, for %v so far", what, Since(begun))
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

// Since returns the time since begun, to the tenth of a second.
func Since(begun time.Time) time.Duration { return time.Since(begun).Round(100 * time.Millisecond) }

// Pause waits for d or the end of ctx, whose error it returns then.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
