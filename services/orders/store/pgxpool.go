package store

import (
	"context"
	"maps"
	"math"
	"sync/atomic"
	"time"

	"dyno/services/orders/batcher"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// viaPgxpool takes connections from pgx's pool, and sends and reads what goes over them with its
// own code (session): a statement is prepared once, when a connection is made, and rows are read
// from the buffer that they arrived in.
type viaPgxpool struct {
	classes map[string]*pgxClass

	// By name, because this is the hot path; nil where the class does not exist.
	reads, batches, lists, writes *pgxClass
}

// pgxClass is the connections of one class.
type pgxClass struct {
	*pgxpool.Pool
	opened atomic.Uint64
}

// prepared lists what the connections of a class can be asked. A session knows the statements by
// their index.
var prepared = map[string][]string{
	classReads:   {selectOrder},
	classBatches: {selectBatch},
	classLists:   {selectPage, selectPageOf},
	classWrites:  {insertOrder, selectExisting},
}

// planning has PostgreSQL find the rows of each statement by an index and in its order, whatever
// the arguments. So it need not plan anew for these, and does not stay with a plan that read or
// sorted whole tables because they were small when the connection was made.
var planning = map[string]string{
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_sort":       "off",

	"enable_incremental_sort": "off",
}

func openPgxpool(ctx context.Context, s settings) (driver, error) {
	d := &viaPgxpool{classes: map[string]*pgxClass{}}
	for name, connections := range s.classes {
		class, err := openClass(ctx, s, name, connections)
		if err != nil {
			d.Close()
			return nil, err
		}
		d.classes[name] = class
	}
	d.reads, d.batches, d.lists, d.writes = d.classes[classReads], d.classes[classBatches], d.classes[classLists], d.classes[classWrites]
	return d, nil
}

func openClass(ctx context.Context, s settings, name string, connections int) (*pgxClass, error) {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = s.connection(name)
	if !s.pooled {
		maps.Copy(config.ConnConfig.RuntimeParams, planning)
	}
	config.MaxConns = int32(connections)
	config.MaxConnLifetimeJitter = 10 * time.Minute // of an hour, so that not all are replaced in the same moment
	config.PingTimeout = s.timeout
	config.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool { return s.probes(ctx, p.IdleDuration) }
	config.BeforeConnect = func(ctx context.Context, _ *pgx.ConnConfig) error { asks(ctx); return nil }
	class := &pgxClass{}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		class.opened.Add(1)
		return openSession(ctx, conn.PgConn(), prepared[name], s)
	}
	class.Pool, err = pgxpool.NewWithConfig(ctx, config)
	return class, err
}

func (d *viaPgxpool) Order(ctx context.Context, uid int64) (order.Order, error) {
	conn, err := d.reads.Acquire(ctx)
	if err != nil {
		return order.Order{}, err
	}
	defer conn.Release()
	return sessionOf(conn).begin().addInt64(uid).one(ctx, 0)
}

func (d *viaPgxpool) Fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	conn, err := d.batches.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return sessionOf(conn).fetch(ctx, uids, answers)
}

func (d *viaPgxpool) Orders(ctx context.Context, f order.Filter) ([]order.Order, error) {
	conn, err := d.lists.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if f.Before == 0 {
		f.Before = math.MaxInt64
	}
	s := sessionOf(conn).begin().addText(f.Account).addInt64(f.Before).addInt64(int64(f.Limit) + 1)
	if f.Status != 0 {
		return s.addInt16(int16(f.Status)).all(ctx, 1, f.Limit+1)
	}
	return s.all(ctx, 0, f.Limit+1)
}

func (d *viaPgxpool) Insert(ctx context.Context, m *submission) (order.Order, error) {
	conn, err := d.writes.Acquire(ctx)
	if err != nil {
		return order.Order{}, err
	}
	defer conn.Release()
	return sessionOf(conn).begin().addText(m.owner).addText(m.ClientOrderID).addText(m.Symbol).addInt16(int16(m.Side)).
		addInt64(int64(m.Price)).addInt64(int64(m.Qty)).addBytes(m.digest[:]).addInt16(int16(m.Kind)).addBytes(m.Message).one(ctx, 0)
}

func (d *viaPgxpool) Existing(ctx context.Context, m *submission) (order.Order, []byte, error) {
	conn, err := d.writes.Acquire(ctx)
	if err != nil {
		return order.Order{}, nil, err
	}
	defer conn.Release()
	return sessionOf(conn).begin().addText(m.owner).addText(m.ClientOrderID).oneWithDigest(ctx, 1)
}

func (d *viaPgxpool) Ping(ctx context.Context) error {
	for _, c := range d.classes {
		if s := c.Stat(); c == d.batches || c == d.reads || s.TotalConns() == s.ConstructingConns() { // none yet
			if err := c.Ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *viaPgxpool) Pools() map[string]Pool {
	all := map[string]Pool{}
	for name, c := range d.classes {
		s := c.Stat()
		all[name] = Pool{
			Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()), Max: int(s.MaxConns()),
			Acquires: uint64(s.AcquireCount()), Waits: uint64(s.EmptyAcquireCount()), Waited: s.EmptyAcquireWaitTime(),
			Opened: c.opened.Load(),
		}
	}
	return all
}

func (d *viaPgxpool) Close() {
	for _, c := range d.classes {
		c.Close()
	}
}
