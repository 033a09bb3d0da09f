package database

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// auditAhead is how many months have partitions before they begin: even a gateway that cannot make
// any for weeks writes into the right ones.
const auditAhead = 2

// aheadOfAudit makes the missing partitions.
func aheadOfAudit(ctx context.Context, conn *pgx.Conn) (made int, err error) {
	if made, err = impatient(ctx, conn, "SELECT audit_ahead($1)", auditAhead); err != nil {
		return 0, fmt.Errorf("making partitions: %w", err)
	}
	return made, nil
}

// impatient asks for a number, and waits for no lock for long: all who write would wait behind it.
func impatient(ctx context.Context, conn *pgx.Conn, sql string, argument any) (n int, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '1s'"); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sql, argument).Scan(&n)
	})
	return n, err
}

// KeepAudit makes the partitions that will be needed next, and drops those that are past retention;
// 0 keeps all. To repeat it changes nothing.
func KeepAudit(ctx context.Context, dsn string, retention time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errand(ctx, dsn, "looking after the audit", func(conn *pgx.Conn) error {
		made, err := aheadOfAudit(ctx, conn)
		if err != nil {
			return err
		}
		dropped := 0
		if retention > 0 {
			if dropped, err = impatient(ctx, conn, "SELECT audit_expire($1)", retention); err != nil {
				return fmt.Errorf("dropping old partitions, which takes --owner-dsn: %w", err)
			}
		}
		if made+dropped > 0 {
			log.Info("audit partitions", "database", conn.Config().Database, "made", made, "dropped", dropped)
		}
		return nil
	})
}
