package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// rights are all that a gateway's role has: it adds orders and audit records, and changes and
// removes nothing. PostgreSQL locks a row (selectExisting) only for a role that may update some
// column; the digest is one that no update changes, as a trigger refuses that.
var rights = []string{
	"GRANT SELECT ON migrations, meta, orders TO %[1]s",
	"GRANT INSERT (account, client_order_id, symbol, side, price, qty, digest), UPDATE (digest) ON orders TO %[1]s",
	"GRANT INSERT (account, uid, kind, client_order_id, message) ON audit TO %[1]s",
	"GRANT EXECUTE ON FUNCTION audit_ahead(int) TO %[1]s",
}

// Grant gives a gateway's role its rights in a migrated database, of which owner is the owner's
// DSN. To repeat it changes nothing.
func Grant(ctx context.Context, owner, role string) error {
	return errand(ctx, owner, "granting the gateway's role its rights", func(conn *pgx.Conn) error {
		if conn.Config().User == role {
			return nil
		}
		return alone(ctx, conn, func(tx pgx.Tx) error {
			name := pgx.Identifier{role}.Sanitize()
			var schema string
			if err := tx.QueryRow(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
				return err
			}
			for _, right := range append(rights, "GRANT USAGE ON SCHEMA "+pgx.Identifier{schema}.Sanitize()+" TO %[1]s") {
				if _, err := tx.Exec(ctx, fmt.Sprintf(right, name)); err != nil {
					return fmt.Errorf("role %s: %w", role, missing(err))
				}
			}
			return nil
		})
	})
}

// missing adds what to do when the role does not exist.
func missing(err error) error {
	const undefinedObject = "42704"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedObject {
		return fmt.Errorf("%w; make it: CREATE ROLE name LOGIN PASSWORD '...'", err)
	}
	return err
}

// WarnOfPower says when the role of a gateway could do away with audit records, or with the trigger
// that keeps them.
func WarnOfPower(ctx context.Context, dsn string, log *slog.Logger) error {
	return errand(ctx, dsn, "looking at the role's rights", func(conn *pgx.Conn) error {
		var role string
		var super, owns bool
		err := conn.QueryRow(ctx, `SELECT r.rolname, r.rolsuper, pg_has_role(r.oid, c.relowner, 'USAGE')
			FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = 'audit'::regclass`).Scan(&role, &super, &owns)
		if err == nil && (super || owns) {
			log.Warn("the gateway's role could turn off the audit: make another (CREATE ROLE name LOGIN PASSWORD '...'), give that with --dsn and this one with --owner-dsn",
				"role", role, "superuser", super, "owner", owns)
		}
		return err
	})
}
