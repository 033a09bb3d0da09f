package driver

import (
	"context"
	"sync/atomic"
)

// Attempt is the context of one operation in a database. It records whether the database was asked
// anything: only then does a timeout say something about the database.
type Attempt struct {
	context.Context
	asked atomic.Bool
}

type attemptKey struct{}

// Value returns the attempt itself to callers with a context derived from it.
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// asks is called before the database is sent something: a statement, or a connection's first words.
func asks(ctx context.Context) {
	if a, ok := ctx.Value(attemptKey{}).(*Attempt); ok && a.Err() == nil {
		a.asked.Store(true)
	}
}

// Asked reports whether the database was asked anything.
func (a *Attempt) Asked() bool { return a.asked.Load() }

// SetAsked says that for another attempt of which this one is a part.
func (a *Attempt) SetAsked(asked bool) { a.asked.Store(asked) }

// Unasked reports whether the time was over before the database was asked anything.
func Unasked(ctx context.Context) bool {
	a, ok := ctx.Value(attemptKey{}).(*Attempt)
	return ok && a.Err() != nil && !a.asked.Load()
}
