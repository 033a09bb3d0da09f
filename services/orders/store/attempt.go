package store

import (
	"context"
	"sync/atomic"
)

// attempt is the context of what is to be done in a database. It knows whether the database was
// asked anything for it: only then does the end of its time say something of the database.
type attempt struct {
	context.Context
	asked atomic.Bool
}

type attemptKey struct{}

// Value gives the attempt itself to whoever has a context that was made of it.
func (a *attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// asks is called before the database is sent something: a statement, or a connection's first words.
func asks(ctx context.Context) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && a.Err() == nil {
		a.asked.Store(true)
	}
}

// unasked reports whether the time was over before the database was asked anything.
func unasked(ctx context.Context) bool {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	return ok && a.Err() != nil && !a.asked.Load()
}
