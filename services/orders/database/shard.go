package database

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

// UIDShard says in which of n shards an order is: shard i gives the uids i+1, i+1+n, i+1+2n, ...
func UIDShard(uid int64, n int) int { return int((uid - 1) % int64(n)) }

// AccountShard says in which of n shards an account's orders are, so that a page and the search for
// a duplicate need one. Neither n nor this function can change for orders that exist.
func AccountShard(account string, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(account))
	return int(h.Sum64() % uint64(n))
}

// MigrateShards migrates the databases of a set. None is touched before all were found to be what
// they are given as.
func MigrateShards(ctx context.Context, dsns []string) error {
	if err := distinct(dsns); err != nil {
		return err
	}
	for i, text := range dsns {
		err := errand(ctx, text, "looking which shard it is", func(conn *pgx.Conn) error {
			_, err := checkShard(ctx, conn, shardMark(i, len(dsns)))
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, text := range dsns {
		if err := Migrate(ctx, text, i, len(dsns)); err != nil {
			return err
		}
	}
	return nil
}

// distinct refuses DSNs of which two lead to the same database.
func distinct(dsns []string) error {
	given := map[string]int{}
	for i, text := range dsns {
		config, err := ParseDSN(text, Primary)
		if err != nil {
			return fmt.Errorf("DSN %d of %d: %w", i+1, len(dsns), err)
		}
		for _, place := range Places(config) {
			if before, twice := given[place]; twice {
				return fmt.Errorf("%w: DSNs %d and %d both lead to %s: each shard is a database of its own", ErrOptions, before+1, i+1, place)
			}
		}
		for _, place := range Places(config) {
			given[place] = i
		}
	}
	return nil
}
