package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"

	"github.com/jackc/pgx/v5"
)

// Who may read and write orders, and change no table, can open a store of a database that is up to
// date.
func TestFewRights(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := database.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, role := connect(t, dsn), "gateway_of_"+config.Database // roles are the server's, which tests share
	exec(t, conn, "CREATE ROLE "+role+" LOGIN PASSWORD 'few'")
	t.Cleanup(func() {
		exec(t, conn, "DROP OWNED BY "+role)
		exec(t, conn, "DROP ROLE "+role)
	})
	exec(t, conn, "GRANT SELECT ON migrations, meta, orders TO "+role)
	exec(t, conn, "GRANT INSERT, UPDATE ON orders TO "+role)
	exec(t, conn, "GRANT INSERT ON audit TO "+role)
	s, err := Open(t.Context(), completed(Options{DSNs: []string{fmt.Sprintf("postgres://%s:few@%s:%d/%s", role, config.Host, config.Port, config.Database)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	made := submit(t, s, "A1", buy(1))
	if got, err := s.Order(t.Context(), made.UID); err != nil || got != made {
		t.Errorf("%v %v, want %v", got, err, made)
	}
}

func TestShards(t *testing.T) {
	const shards = 3
	every(t, func(t *testing.T, o Options) {
		for range shards {
			o.DSNs = append(o.DSNs, pgtest.Database(t))
		}
		s, _ := open(t, o)
		used := map[int]int{}
		for n := range 30 {
			account := order.SeedAccount(int64(n)+1, 10)
			made := submit(t, s, account, buy(n))
			shard := database.UIDShard(made.UID, shards)
			if shard != database.AccountShard(account, shards) {
				t.Errorf("order %d of %s is in shard %d", made.UID, account, shard)
			}
			if want := int64(1 + shard + shards*used[shard]); made.UID != want {
				t.Errorf("uid %d, want %d", made.UID, want)
			}
			used[shard]++
			if got, err := s.Order(t.Context(), made.UID); err != nil || got != made {
				t.Errorf("%v %v, want %v", got, err, made)
			}
			p, err := s.Orders(t.Context(), order.Filter{Account: account, Limit: 1})
			if err != nil || len(p.Orders) != 1 || p.Orders[0] != made {
				t.Errorf("page %v %v, want %v", p, err, made)
			}
		}
		if len(used) != shards {
			t.Errorf("used %v", used)
		}
		for i, dsn := range o.DSNs { // a shard is seeded with its own accounts only
			if err := database.Seed(t.Context(), dsn, 20, 40, nil); err != nil {
				t.Fatal(err)
			}
			if n := get[int](t, connect(t, dsn), "SELECT count(*) FROM orders"); n != 20+used[i] {
				t.Errorf("shard %d has %d orders", i, n)
			}
		}
		if p, err := s.Orders(t.Context(), order.Filter{Account: "A37", Limit: 5}); err != nil || len(p.Orders) == 0 {
			t.Error(p, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dsn := pgtest.Database(t)
	for want, o := range map[string]Options{
		"needs the DSN": {},
		`unknown driver "odbc"; there are pgxpool, sql`:  {DSNs: []string{dsn}, Driver: "odbc"},
		`unknown lookup "none"; there are batch, single`: {DSNs: []string{dsn}, Lookup: "none"},
		"single DSN":         {DSNs: []string{dsn, dsn}, Replica: dsn},
		"DSNs 1 and 2 both":  {DSNs: []string{dsn, dsn}},
		"cannot be read":     {DSNs: []string{"postgres://a:secret@host:port/db"}},
		"the DSN is empty":   {DSNs: []string{" "}},
		"check that it runs": {DSNs: []string{"postgres://a:secret@127.0.0.1:1/db"}},
	} {
		s, err := Open(t.Context(), completed(o))
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || errors.Is(err, database.ErrOptions) == errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A new database does not become a shard of a refused set, and a wrong mark can be removed as the
// error says.
func TestShardsInWrongOrder(t *testing.T) {
	first, second := pgtest.Database(t), pgtest.Database(t)
	open(t, Options{DSNs: []string{first}})
	for name, dsns := range map[string][]string{
		"new before old": {second, first},
		"new twice":      {second, second + "&application_name=other"},
	} {
		s, err := Open(t.Context(), completed(Options{DSNs: dsns}))
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, database.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
		if there := get[bool](t, connect(t, second), "SELECT to_regclass('meta') IS NOT NULL"); there {
			t.Errorf("%s: the new one was touched", name)
		}
	}
	if err := database.Migrate(t.Context(), second, 0, 2); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), completed(Options{DSNs: []string{pgtest.Database(t), second}}))
	if err == nil {
		t.Fatal("a wrong mark is accepted")
	}
	_, fix, _ := strings.Cut(err.Error(), "yet: ")
	exec(t, connect(t, second), fix)
	s, _ := open(t, Options{DSNs: []string{pgtest.Database(t), second}})
	if made := submit(t, s, accountIn(1, 2), buy(1)); made.UID != 2 {
		t.Errorf("uid %d, want 2", made.UID)
	}
}

// accountIn finds an account of a shard.
func accountIn(shard, shards int) string {
	for i := int64(1); ; i++ {
		if account := order.SeedAccount(i, 1000); database.AccountShard(account, shards) == shard {
			return account
		}
	}
}

// The database enforces the guarantees for orders, for changes by any client.
func TestChanges(t *testing.T) {
	s, conn := open(t, Options{})
	made := submit(t, s, "A1", buy(1))
	exec(t, conn, "UPDATE orders SET status = 2, filled = 1, version = 77, updated_at = '2000-01-01'")
	got, err := s.Order(t.Context(), made.UID)
	if err != nil || got.Version != 2 || !got.UpdatedAt.After(made.UpdatedAt) || got.Filled != 1 {
		t.Errorf("%+v %v", got, err)
	}
	for _, column := range []string{"uid = DEFAULT", "account = 'A2'", "client_order_id = 'x'", "digest = sha256('x')"} {
		refused(t, conn, "OR002", "UPDATE orders SET "+column)
	}
	for _, column := range []string{"status = 5", "status = 0", "side = 4", "price = -1", "qty = 0", "filled = qty + 1", "symbol = ''"} {
		refused(t, conn, "23514", "UPDATE orders SET "+column)
	}
	refused(t, conn, "428C9", "INSERT INTO orders (uid, account, client_order_id, symbol, side, price, qty, digest) VALUES (5, 'A', 'c', 'S', 1, 1, 1, sha256(''))")
	for _, status := range []order.Status{order.Filled, order.Cancelled} {
		other := submit(t, s, "A1", buy(10+int(status)))
		exec(t, conn, "UPDATE orders SET status = $2 WHERE uid = $1", other.UID, status)
		refused(t, conn, "OR001", "UPDATE orders SET status = 1 WHERE uid = $1", other.UID)
		refused(t, conn, "OR001", "UPDATE orders SET price = price WHERE uid = $1", other.UID)
	}
	refused(t, conn, "OR003", "DELETE FROM orders")
	refused(t, conn, "OR003", "TRUNCATE orders")
}
