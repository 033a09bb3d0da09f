// Package memdb is a database driver with one table in memory and a configurable latency, like a
// database across a network. It replaces a real one where only the waiting matters.
//
// It is not a database: it understands one query and stores nothing. It starts no goroutines.
package memdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"
)

// Query is the only supported query: the name of the item with a number.
const Query = "SELECT name FROM items WHERE id = ?"

// Connector opens connections whose queries take Latency each.
type Connector struct{ Latency time.Duration }

// Connect opens a connection.
func (c Connector) Connect(context.Context) (driver.Conn, error) { return conn{c.Latency}, nil }

// Driver returns the driver, which cannot open by name.
func (c Connector) Driver() driver.Driver { return byName{} }

type byName struct{}

func (byName) Open(string) (driver.Conn, error) {
	return nil, errors.New("memdb: open it by its Connector, with sql.OpenDB")
}

type conn struct{ latency time.Duration }

var _ driver.QueryerContext = conn{}

func (conn) Close() error              { return nil }
func (conn) Begin() (driver.Tx, error) { return nil, errors.New("memdb: there are no transactions") }
func (conn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("memdb: there are no prepared statements")
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if query != Query || len(args) != 1 {
		return nil, errors.New("memdb: the one query is " + Query)
	}
	id, ok := args[0].Value.(int64)
	if !ok {
		return nil, errors.New("memdb: id is an integer")
	}
	answered := time.NewTimer(c.latency)
	defer answered.Stop()
	select {
	case <-answered.C:
		return &rows{id: id}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rows is the one row of a query's answer.
type rows struct {
	id   int64
	done bool
}

func (*rows) Columns() []string { return []string{"name"} }
func (*rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	if r.done {
		return io.EOF
	}
	r.done = true
	into[0] = "item " + string(rune('a'+(r.id%26+26)%26))
	return nil
}
