package store

import (
	"context"
	"fmt"

	"dyno/services/orders/database"
)

// pooled looks whether a pooler stands before a database, and says what that means. A replica that
// does not answer is asked as one behind a pooler, which is right in any case.
func (d *backend) pooled(ctx context.Context, s settings, r database.Role, o Options) (bool, error) {
	way, err := probe(ctx, s)
	if err != nil {
		err = database.Explain(ctx, d.where, "looking whether a pooler is before it", err)
		if r != database.Replica {
			return false, err
		}
		o.Log.Warn("the replica does not answer; reads go to the primary until it does", "error", err)
		return true, nil
	}
	if !way.pooled {
		return false, nil
	}
	connections := 0
	for _, n := range s.classes {
		connections += n
	}
	o.Log.Info(fmt.Sprintf("a pooler is before the database: ordersd relies on no session there; where it pools sessions and not transactions, it needs %d of them for this process", connections),
		"database", d.where, "refused", way.refused)
	if o.Driver == "sql" && (way.timeout == 0 || way.timeout > o.Timeout) {
		o.Log.Warn(fmt.Sprintf("the server does not end statements after the time-out, as the pooler passes none on and driver=sql sets none: "+
			"ALTER ROLE %q SET statement_timeout = '%dms', or use driver=pgxpool", s.config.User, o.Timeout.Milliseconds()),
			"database", d.where, "statement_timeout", way.timeout.String())
	}
	return true, nil
}
