package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// connected has a connection to a database as its owner.
func (s *Server) connected(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}

// Role makes a role that may log in, and nothing else, and returns the DSN of the database with it.
// Its password is a new one at each call and is kept nowhere.
func (s *Server) Role(ctx context.Context, name string) (dsn string, err error) {
	role, password := pgx.Identifier{name}.Sanitize(), rand.Text() // letters and digits
	err = s.connected(ctx, s.options.Database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%[1]s') THEN CREATE ROLE %[2]s; END IF;
			ALTER ROLE %[2]s LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION PASSWORD '%[3]s';
		END $$`, name, role, password))
		return err
	})
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
