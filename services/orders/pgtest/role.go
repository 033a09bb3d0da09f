package pgtest

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Role returns a DSN with another role, which is made on its server unless it is there. It lasts as
// long as the server.
func Role(t testing.TB, dsn, name string) string {
	t.Helper()
	const password = "role"
	connected(t, dsn, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE ROLE "+name+" LOGIN PASSWORD '"+password+"'")
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == "42710" || e.Code == "23505") {
			err = nil // another test was faster
		}
		return err
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	return u.String()
}
