package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"sync/atomic"

	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// viaSQL is database/sql over pgx, as its users write it: a statement is prepared the first time
// that a connection sees it, arguments and columns go through reflection.
type viaSQL struct {
	classes map[string]*sqlClass
	tally   *tally
}

// sqlClass is the connections of one class, and what database/sql does not count.
type sqlClass struct {
	*sql.DB
	acquires, opened atomic.Uint64
}

func openSQL(_ context.Context, s settings) (driver, error) {
	d := &viaSQL{classes: map[string]*sqlClass{}, tally: s.tally}
	for name, connections := range s.classes {
		config := s.connection(name)
		config.Tracer = s.tally
		if s.pooled {
			database.Stateless(config)
		}
		class := &sqlClass{}
		class.DB = stdlib.OpenDB(*config,
			stdlib.OptionAfterConnect(func(context.Context, *pgx.Conn) error { class.opened.Add(1); return nil }),
			stdlib.OptionBeforeConnect(func(ctx context.Context, _ *pgx.ConnConfig) error { asks(ctx); return nil }),
			stdlib.OptionShouldPing(func(ctx context.Context, p stdlib.ShouldPingParams) bool { return s.probes(ctx, p.IdleDuration) }))
		class.SetMaxOpenConns(connections)
		class.SetMaxIdleConns(connections) // else all but two are closed after each use
		d.classes[name] = class
	}
	return d, nil
}

func (d *viaSQL) class(name string) *sqlClass {
	c := d.classes[name]
	c.acquires.Add(1)
	return c
}

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

func scan(row scanner, more ...any) (order.Order, error) {
	var o order.Order
	err := row.Scan(append([]any{&o.UID, &o.Account, &o.Symbol, &o.Side, &o.Status, &o.Price, &o.Qty, &o.Filled, &o.Version, &o.UpdatedAt}, more...)...)
	o.UpdatedAt = o.UpdatedAt.UTC()
	if errors.Is(err, sql.ErrNoRows) {
		err = order.ErrNotFound
	}
	return o, err
}

func (d *viaSQL) Order(ctx context.Context, uid int64) (order.Order, error) {
	return scan(d.class(classReads).QueryRowContext(ctx, selectOrder, uid))
}

func (d *viaSQL) Fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	rows, err := d.class(classBatches).QueryContext(ctx, selectBatch, uids)
	if err != nil {
		return err
	}
	defer rows.Close()
	places := make(map[int64]int, len(uids))
	for i, uid := range uids {
		places[uid] = i
	}
	for rows.Next() {
		o, err := scan(rows)
		if err != nil {
			return err
		}
		at, asked := places[o.UID]
		if !asked {
			return errUnasked(o.UID)
		}
		answers[at] = batcher.Answer[order.Order]{Value: o, Found: true}
	}
	return rows.Err()
}

func (d *viaSQL) Orders(ctx context.Context, f order.Filter) ([]order.Order, error) {
	before := f.Before
	if before == 0 {
		before = math.MaxInt64
	}
	query, args := selectPage, []any{f.Account, before, f.Limit + 1}
	if f.Status != 0 {
		query, args = selectPageOf, append(args, f.Status)
	}
	rows, err := d.class(classLists).QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []order.Order
	for rows.Next() {
		o, err := scan(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, o)
	}
	return page, rows.Err()
}

func (d *viaSQL) Insert(ctx context.Context, s *submission) (order.Order, error) {
	return scan(d.class(classWrites).QueryRowContext(ctx, insertOrder,
		s.owner, s.ClientOrderID, s.Symbol, s.Side, s.Price, s.Qty, s.digest[:], s.Kind, s.Message))
}

func (d *viaSQL) Existing(ctx context.Context, s *submission) (order.Order, []byte, error) {
	var digest []byte
	o, err := scan(d.class(classWrites).QueryRowContext(ctx, selectExisting, s.owner, s.ClientOrderID), &digest)
	return o, digest, err
}

func (d *viaSQL) Ping(ctx context.Context) error {
	for name, c := range d.classes {
		if name == classReads || name == classBatches || c.Stats().OpenConnections == 0 {
			if err := c.PingContext(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *viaSQL) Pools() map[string]Pool {
	all := map[string]Pool{}
	for name, c := range d.classes {
		s := c.Stats()
		all[name] = Pool{
			Open: s.OpenConnections, InUse: s.InUse, Max: s.MaxOpenConnections,
			Acquires: c.acquires.Load(), Waits: uint64(s.WaitCount), Waited: s.WaitDuration, Opened: c.opened.Load(),
		}
	}
	return all
}

func (d *viaSQL) Close() {
	for _, c := range d.classes {
		c.Close()
	}
}
