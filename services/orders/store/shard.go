package store

import "hash/fnv"

// UIDShard says in which of n shards an order is: shard i gives the uids i+1, i+1+n, i+1+2n, ...
func UIDShard(uid int64, n int) int { return int((uid - 1) % int64(n)) }

// AccountShard says in which of n shards an account's orders are, so that a page and the search for a duplicate
// need one. Neither n nor this function can change for orders that exist.
func AccountShard(account string, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(account))
	return int(h.Sum64() % uint64(n))
}
