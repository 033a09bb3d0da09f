package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Template is a database on the shared server that is prepared once, and copied for each test that
// asks: a copy takes a third of the time that making the tables again does. Its zero value cannot
// be used.
type Template struct {
	prepare func(t testing.TB, dsn string)

	mu   sync.Mutex
	name string // "": it has not been prepared
}

// NewTemplate returns a template that prepare makes out of an empty database when the first test
// asks for a copy. When prepare returns, its connections must be closed or about to close. If it
// fails its test, the next one tries again.
func NewTemplate(prepare func(t testing.TB, dsn string)) *Template {
	return &Template{prepare: prepare}
}

// Database returns the URL of a fresh copy, which is dropped after the test as those of Database
// are.
func (p *Template) Database(t testing.TB) (dsn string) {
	t.Helper()
	return fresh(t, " template "+p.made(t))
}

// made returns the name of the template, which lasts as long as the shared server.
func (p *Template) made(t testing.TB) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name == "" {
		name := nextName()
		dsn := create(t, name, "")
		p.prepare(t, dsn)
		p.name = name
	}
	return p.name
}

// patiently executes a statement that needs exclusive use of a database, and retries until the
// server has noticed that earlier clients are gone.
func patiently(t testing.TB, dsn, statement string) {
	t.Helper()
	connected(t, dsn, func(ctx context.Context, conn *pgx.Conn) error {
		for {
			_, err := conn.Exec(ctx, statement)
			if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == inUse {
				continue // the server has waited for 5 s
			}
			if err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
			return nil
		}
	})
}

// inUse is object_in_use: a connection to the database that must be copied or dropped is still
// open.
const inUse = "55006"
