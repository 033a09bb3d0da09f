package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// Role makes a role that may log in, and nothing else, and returns the DSN of the database with it.
// Its password is a new one at each call and is kept nowhere.
func (s *Server) Role(ctx context.Context, name string) (dsn string, err error) {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	role, password := pgx.Identifier{name}.Sanitize(), rand.Text() // letters and digits
	_, err = conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%s') THEN CREATE ROLE %s; END IF;
	END $$`, name, role))
	if err == nil {
		_, err = conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION PASSWORD '%s'", role, password))
	}
	if err != nil {
		return "", fmt.Errorf("making the role %s: %w", name, err)
	}
	u, err := url.Parse(s.DSN())
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword(name, password)
	return u.String(), nil
}
