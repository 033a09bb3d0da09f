package postgres

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

// reporter writes lines for people about slow steps. A nil writer: none.
type reporter struct{ to io.Writer }

// line writes a line.
func (r reporter) line(format string, args ...any) {
	if r.to != nil {
		fmt.Fprintf(r.to, "postgres: "+format+"\n", args...) // best effort: the reader may be gone
	}
}

// wait calls done every 20 ms until it returns true or an error, and returns the error, or that of
// ctx when that ends before. It writes a line every 5 s, and one at the end if there were others.
func (r reporter) wait(ctx context.Context, what string, done func() (bool, error)) error {
	begun := time.Now()
	spoke := begun
	defer func() {
		if spoke != begun {
			r.line("%s: over after %v", what, since(begun))
		}
	}()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Since(spoke) >= quiet {
			spoke = time.Now()
			r.line("%s, for %v so far", what, since(begun))
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// while writes a line every 5 s until stop is called.
func (r reporter) while(what string) (stop func()) {
	begun := time.Now()
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(quiet)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				r.line("%s, for %v so far", what, since(begun))
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

// since returns the time since begun, to the tenth of a second.
func since(begun time.Time) time.Duration { return time.Since(begun).Round(100 * time.Millisecond) }

// pause waits for d or the end of ctx, whose error it returns then.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
