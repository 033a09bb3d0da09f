package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"dyno/services/orders/batcher"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// session is what one connection keeps between statements: their descriptions, and the memory of
// arguments. It belongs to the holder of the connection.
type session struct {
	conn       *pgconn.PgConn
	tally      *tally
	bounds     string                         // what goes before each statement, in its transaction; "": nothing
	statements []*pgconn.StatementDescription // behind a pooler their texts alone

	arguments [][]byte // parts of memory, or the caller's
	memory    []byte
	wanted    []place
}

// place is where the answer for a uid goes.
type place struct {
	uid int64
	at  int
}

// binaryFormat is of all arguments, and of all columns.
var binaryFormat = []int16{1}

const sessionKey = "dyno/services/orders/store"

func openSession(ctx context.Context, conn *pgconn.PgConn, statements []string, settings settings) error {
	s := &session{conn: conn, tally: settings.tally}
	conn.CustomData()[sessionKey] = s
	if settings.pooled {
		s.bounds = settings.bounds()
		for _, text := range statements {
			s.statements = append(s.statements, &pgconn.StatementDescription{SQL: text})
		}
		return nil
	}
	for i, text := range statements {
		description, err := conn.Prepare(ctx, "order"+strconv.Itoa(i), text, nil)
		if err != nil {
			return fmt.Errorf("preparing a statement: %w", err)
		}
		s.tally.prepares.Add(1)
		s.statements = append(s.statements, description)
	}
	return nil
}

func sessionOf(conn *pgxpool.Conn) *session {
	return conn.Conn().PgConn().CustomData()[sessionKey].(*session)
}

// begin forgets the arguments of the statement before.
func (s *session) begin() *session {
	s.arguments, s.memory = s.arguments[:0], s.memory[:0]
	return s
}

// The arguments. When memory grows, what was added before stays where it was.

func (s *session) add(from int) *session {
	s.arguments = append(s.arguments, s.memory[from:len(s.memory):len(s.memory)])
	return s
}

func (s *session) addInt64(v int64) *session {
	from := len(s.memory)
	s.memory = binary.BigEndian.AppendUint64(s.memory, uint64(v))
	return s.add(from)
}

func (s *session) addInt16(v int16) *session {
	from := len(s.memory)
	s.memory = binary.BigEndian.AppendUint16(s.memory, uint16(v))
	return s.add(from)
}

func (s *session) addText(v string) *session {
	from := len(s.memory)
	s.memory = append(s.memory, v...)
	return s.add(from)
}

// addBytes takes the caller's memory; nil would be NULL.
func (s *session) addBytes(v []byte) *session {
	if v == nil {
		v = []byte{}
	}
	s.arguments = append(s.arguments, v)
	return s
}

// addInt64s adds an int8[] of one dimension.
func (s *session) addInt64s(values []int64) {
	const int8OID = 20
	from := len(s.memory)
	b := slices.Grow(s.memory, 20+12*len(values))
	b = binary.BigEndian.AppendUint32(b, 1) // dimensions
	b = binary.BigEndian.AppendUint32(b, 0) // no NULL among them
	b = binary.BigEndian.AppendUint32(b, int8OID)
	b = binary.BigEndian.AppendUint32(b, uint32(len(values)))
	b = binary.BigEndian.AppendUint32(b, 1) // index of the first
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, 8) // bytes
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	s.memory = b
	s.add(from)
}

func (s *session) send(ctx context.Context, statement int) results {
	s.tally.sent(ctx)
	if s.bounds != "" {
		return s.sendWhole(ctx, s.statements[statement])
	}
	return s.conn.ExecStatement(ctx, s.statements[statement], s.arguments, binaryFormat, binaryFormat)
}

// results is a *pgconn.ResultReader, or what stands for one.
type results interface {
	NextRow() bool
	Values() [][]byte
	Close() (pgconn.CommandTag, error)
}

// read hands each row to do and returns the first error. It reads to the end in any case, so that
// the connection can be used again.
func read(rows results, do func(values [][]byte) error) error {
	var failed error
	for rows.NextRow() {
		if failed == nil {
			failed = do(rows.Values())
		}
	}
	if _, err := rows.Close(); err != nil {
		return err
	}
	return failed
}

func (s *session) one(ctx context.Context, statement int) (order.Order, error) {
	o, _, err := s.oneWithDigest(ctx, statement)
	return o, err
}

// oneWithDigest reads a row and, when there is one column more, the digest.
func (s *session) oneWithDigest(ctx context.Context, statement int) (o order.Order, digest []byte, err error) {
	found := false
	err = read(s.send(ctx, statement), func(values [][]byte) error {
		found = true
		if len(values) > columnCount {
			digest = slices.Clone(values[columnCount])
		}
		return decode(&o, values)
	})
	if err == nil && !found {
		err = order.ErrNotFound
	}
	return o, digest, err
}

func (s *session) all(ctx context.Context, statement, limit int) ([]order.Order, error) {
	var page []order.Order
	err := read(s.send(ctx, statement), func(values [][]byte) error {
		if page == nil {
			page = make([]order.Order, 0, limit)
		}
		page = append(page, order.Order{})
		return decode(&page[len(page)-1], values)
	})
	return page, err
}

// fetch reads the orders with these uids, each into the answer of the same index. What is not there
// is left.
func (s *session) fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	s.begin()
	s.addInt64s(uids)
	s.wanted = s.wanted[:0]
	for i, uid := range uids {
		s.wanted = append(s.wanted, place{uid, i})
	}
	slices.SortFunc(s.wanted, func(a, b place) int { return cmp.Compare(a.uid, b.uid) })
	next := 0 // the rows come in the order of their uids
	return read(s.send(ctx, 0), func(values [][]byte) error {
		uid, err := uidOf(values)
		if err != nil {
			return err
		}
		for next < len(s.wanted) && s.wanted[next].uid < uid {
			next++
		}
		if next == len(s.wanted) || s.wanted[next].uid != uid {
			return errUnasked(uid)
		}
		answer := &answers[s.wanted[next].at]
		answer.Found = true
		return decode(&answer.Value, values)
	})
}
