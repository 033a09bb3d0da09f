package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// auditAhead is how many months have partitions before they begin: even a gateway that cannot make
// any for weeks writes into the right ones.
const auditAhead = 2

// aheadOfAudit makes the missing partitions. From here on the connection waits for no lock for
// long: everybody who writes would wait behind it.
func aheadOfAudit(ctx context.Context, conn *pgx.Conn) (made int, err error) {
	if _, err := conn.Exec(ctx, "SET lock_timeout = '1s'"); err != nil {
		return 0, err
	}
	if err := conn.QueryRow(ctx, "SELECT audit_ahead($1)", auditAhead).Scan(&made); err != nil {
		return 0, fmt.Errorf("making partitions: %w", err)
	}
	return made, nil
}

// keepAudit makes the audit's partitions and drops old ones, daily, until ctx ends.
func (s *Store) keepAudit(ctx context.Context) {
	for {
		pause := 24 * time.Hour
		for i, d := range s.shards {
			if err := s.keepAuditOf(ctx, s.options.owners()[i]); err != nil && ctx.Err() == nil {
				s.options.Log.Warn("the audit's partitions could not be looked after; next try in 10 minutes", "database", d.where, "err", err)
				pause = 10 * time.Minute
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *Store) keepAuditOf(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errand(ctx, dsn, "looking after the audit", func(conn *pgx.Conn) error {
		made, err := aheadOfAudit(ctx, conn)
		if err != nil {
			return err
		}
		dropped := 0
		if s.options.AuditRetention > 0 {
			if err := conn.QueryRow(ctx, "SELECT audit_expire($1)", s.options.AuditRetention).Scan(&dropped); err != nil {
				return fmt.Errorf("dropping old partitions, which takes --owner-dsn: %w", err)
			}
		}
		if made+dropped > 0 {
			s.options.Log.Info("audit partitions", "database", conn.Config().Database, "made", made, "dropped", dropped)
		}
		return nil
	})
}
