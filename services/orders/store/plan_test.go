package store

import (
	"fmt"
	"strings"
	"testing"

	"dyno/services/orders/database"
	"dyno/services/orders/pgtest"

	"github.com/jackc/pgx/v5"
)

// A connection that was made when there were no orders yet goes by the index for each statement; so
// does one that is made later.
func TestPlans(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := database.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{0, 20_000} {
		if rows > 0 {
			if err := database.Seed(t.Context(), dsn, rows, 10, nil); err != nil {
				t.Fatal(err)
			}
		}
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range planning {
			config.RuntimeParams[name] = value
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		for i, c := range []struct{ statement, arguments, want string }{
			{selectOrder, "1", "Index Scan using orders_pkey"},
			{selectBatch, "'{1,2}'", "Index Scan using orders_pkey"},
			{selectPage, "'A1', 5, 3", "Limit; Index Scan Backward using orders_account"},
			{selectPageOf, "'A1', 5, 3, 1", "Limit; Index Scan Backward using orders_account_status"},
			{selectExisting, "'A1', 'c'", "LockRows; Index Scan using orders_account_client_order_id_key"},
		} {
			if _, err := conn.Exec(t.Context(), fmt.Sprintf("PREPARE s%d AS %s", i, c.statement)); err != nil {
				t.Fatal(err)
			}
			lines, err := conn.Query(t.Context(), fmt.Sprintf("EXPLAIN (COSTS off) EXECUTE s%d(%s)", i, c.arguments), pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := pgx.CollectRows(lines, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			var nodes []string
			for _, line := range plan {
				if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "->")); !strings.Contains(line, "Cond:") {
					nodes = append(nodes, strings.TrimSuffix(line, " on orders"))
				}
			}
			if got := strings.Join(nodes, "; "); got != c.want {
				t.Errorf("with %d orders, %s: %s, want %s", rows, c.statement, got, c.want)
			}
		}
	}
}
