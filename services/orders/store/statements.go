package store

// The statements. Both drivers send the same texts, so that what differs between them is the
// driver.
const (
	columns = "uid, account, symbol, side, status, price, qty, filled, version, updated_at"

	selectOrder = "SELECT " + columns + " FROM orders WHERE uid = $1"

	selectBatch = "SELECT " + columns + " FROM orders WHERE uid = ANY($1) ORDER BY uid"

	// A page is what comes next in an index, backwards, for as long as the account (and the status) is
	// that one. It is said in the index's own terms: with account = $1, PostgreSQL may also think of
	// reading the orders of all accounts from the newest on, until there are enough of this one.
	selectPage = "SELECT " + columns + ` FROM orders
	WHERE (account, uid) < ($1, $2) AND account >= $1 ORDER BY account DESC, uid DESC LIMIT $3`

	selectPageOf = "SELECT " + columns + ` FROM orders
	WHERE (account, status, uid) < ($1, $4, $2) AND (account, status) >= ($1, $4) ORDER BY account DESC, status DESC, uid DESC LIMIT $3`

	// One statement, so one transaction and one round trip. No row: the client order id was used.
	insertOrder = `WITH made AS (
	INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (account, client_order_id) DO NOTHING
	RETURNING ` + columns + `
), logged AS (
	INSERT INTO audit (account, uid, kind, client_order_id, message) SELECT account, uid, $8, $2, $9 FROM made
)
SELECT ` + columns + ` FROM made`

	// The lock makes it a transaction that writes, so that with a synchronous standby it is answered
	// only after the standby has all that came before: also this order, whose own commit may have lost
	// the primary while it waited.
	selectExisting = "SELECT " + columns + ", digest FROM orders WHERE account = $1 AND client_order_id = $2 FOR KEY SHARE"
)
