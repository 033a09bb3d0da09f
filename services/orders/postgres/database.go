package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// createDatabase makes the database "orders" unless it is there.
func (s *Server) createDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // it copies 8 MB of template1
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var there bool
	if err := conn.QueryRow(ctx, "select exists(select from pg_database where datname = $1)", Database).Scan(&there); err != nil || there {
		return err
	}
	if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{Database}.Sanitize()); err != nil {
		return fmt.Errorf("making database %q: %w", Database, err)
	}
	return nil
}
