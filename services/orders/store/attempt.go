package store

import (
	"context"
	"sync/atomic"
)

// attempt is the context of one operation in a database. It records whether the database was asked
// anything: only then does a timeout say something about the database.
type attempt struct {
	context.Context
	asked atomic.Bool
}

type attemptKey struct{}

// Value returns the attempt itself to callers with a context derived from it.
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
