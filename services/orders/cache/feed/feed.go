// Package feed follows the changes of one PostgreSQL table by logical replication: which transactions changed
// which keys, in the order of their commits, and how far in the write-ahead log it has come.
//
//	f, err := feed.Open(ctx, config)         // a temporary slot: it goes with the connection
//	for { event, err := f.Next() ... }       // one goroutine
//	f.Ask()                                  // any goroutine: have the server say how far it is
//
// A feed ends with its first error and is not repaired: what happens until the next one is open is not heard of.
// Whoever follows must forget everything before opening another.
//
// It is not for the values of rows, and not for consumers that must not miss anything across a restart: the slot
// is gone by then. It starts no goroutines; Close, from any goroutine, ends a Next that waits.
package feed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dyno/services/orders/cache/pgoutput"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Config says what to follow.
type Config struct {
	Postgres    *pgconn.Config // of the primary
	Publication string         // the table must be in it
	Table       uint32         // its oid
	Key         string         // its column of type bigint that identifies a row
	Silence     time.Duration  // without a word from the server, after which it is asked, and after as much again given up; 0: 10 s
}

// Kind is what an event says.
type Kind uint8

// The kinds of events.
const (
	Moved     Kind = iota + 1 // everything that was committed up to At has been told
	Changed                   // the transaction XID made, changed or removed the row Key
	Truncated                 // the transaction XID removed all rows
)

// Event is one thing that the feed tells.
type Event struct {
	Kind Kind
	At   pgoutput.LSN
	XID  uint32
	Key  int64
}

// Feed is made by Open.
type Feed struct {
	// Lineage is the server's system identifier, a slash, and its timeline as eight hexadecimal digits.
	Lineage string

	c    Config
	conn net.Conn
	in   *pgproto3.Frontend

	key     int // the column; -1 until the server described the table
	xid     uint32
	pending []Event // told by one message, not returned yet
	asked   bool    // since the last word

	mu   sync.Mutex // of what is written
	at   pgoutput.LSN
	told pgoutput.LSN // what the server knows that we have
}

// Open connects, makes a slot and starts it. Making a slot waits for transactions that are open.
func Open(ctx context.Context, c Config) (*Feed, error) {
	if c.Silence <= 0 {
		c.Silence = 10 * time.Second
	}
	config := c.Postgres.Copy()
	config.RuntimeParams["replication"] = "database"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting for replication: %w", err)
	}
	line, err := start(ctx, conn, c.Publication)
	if err != nil {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(closing)
		return nil, err
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking over the connection: %w", err)
	}
	return &Feed{Lineage: line, c: c, conn: hijacked.Conn, in: hijacked.Frontend, key: -1}, nil
}

// start makes a slot and brings the connection to where changes come.
func start(ctx context.Context, conn *pgconn.PgConn, publication string) (lineage string, err error) {
	if lineage, err = identify(ctx, conn); err != nil {
		return "", fmt.Errorf("asking the server who it is: %w", err)
	}
	if err := exists(ctx, conn, publication); err != nil {
		return "", err
	}
	slot := "orders_" + strings.ToLower(rand.Text())
	_, err = conn.Exec(ctx, "CREATE_REPLICATION_SLOT "+slot+" TEMPORARY LOGICAL pgoutput (SNAPSHOT 'nothing')").ReadAll()
	if err != nil {
		return "", fmt.Errorf("making a replication slot: %w", err)
	}
	return lineage, stream(ctx, conn, slot, publication)
}

// exists returns an error unless the publication is there: from 18 on, PostgreSQL streams nothing of one that is not,
// instead of an error.
func exists(ctx context.Context, conn *pgconn.PgConn, publication string) error {
	name, err := conn.EscapeString(publication)
	if err != nil {
		return err
	}
	results, err := conn.Exec(ctx, "SELECT FROM pg_publication WHERE pubname = '"+name+"'").ReadAll()
	if err == nil && (len(results) != 1 || len(results[0].Rows) == 0) {
		err = errors.New("there is none")
	}
	if err != nil {
		return fmt.Errorf("looking for the publication %s: %w", publication, err)
	}
	return nil
}

func stream(ctx context.Context, conn *pgconn.PgConn, slot, publication string) error {
	conn.Frontend().Send(&pgproto3.Query{String: fmt.Sprintf(
		`START_REPLICATION SLOT %s LOGICAL 0/0 (proto_version '1', publication_names '"%s"')`, slot, publication)})
	if err := conn.Frontend().Flush(); err != nil {
		return fmt.Errorf("starting replication: %w", err)
	}
	for {
		m, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return fmt.Errorf("starting replication: %w", err)
		}
		switch m := m.(type) {
		case *pgproto3.CopyBothResponse:
			return nil
		case *pgproto3.ErrorResponse:
			return fmt.Errorf("starting replication: %w", pgconn.ErrorResponseToPgError(m))
		case *pgproto3.ReadyForQuery:
			return errors.New("starting replication: the server did not")
		}
	}
}

// identify says whose log will be read: "IDENTIFY_SYSTEM" in PostgreSQL's manual.
func identify(ctx context.Context, conn *pgconn.PgConn) (lineage string, err error) {
	results, err := conn.Exec(ctx, "IDENTIFY_SYSTEM").ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) < 2 {
		return "", errors.New("it does not say")
	}
	row := results[0].Rows[0]
	timeline, err := strconv.ParseUint(string(row[1]), 10, 32)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s/%08X", row[0], timeline), nil
}

// Next waits for the next event.
func (f *Feed) Next() (Event, error) {
	for len(f.pending) == 0 {
		data, err := f.receive()
		if err == nil {
			err = f.take(data)
		}
		if err != nil {
			return Event{}, fmt.Errorf("following changes: %w", err)
		}
	}
	e := f.pending[0]
	f.pending = f.pending[1:]
	return e, nil
}

// receive waits for the data of one message, which is good until the next.
func (f *Feed) receive() ([]byte, error) {
	for {
		if err := f.conn.SetReadDeadline(time.Now().Add(f.c.Silence)); err != nil {
			return nil, err
		}
		m, err := f.in.Receive()
		if err != nil {
			if e := net.Error(nil); !errors.As(err, &e) || !e.Timeout() || f.asked {
				return nil, err
			}
			f.asked = true
			if err := f.Ask(); err != nil {
				return nil, err
			}
			continue // where it was: a partial message is kept
		}
		f.asked = false
		switch m := m.(type) {
		case *pgproto3.CopyData:
			return m.Data, nil
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		case *pgproto3.CopyDone, *pgproto3.ReadyForQuery:
			return nil, errors.New("the server ended the stream")
		}
	}
}

// take reads one message of the stream, and puts what it tells into pending.
func (f *Feed) take(data []byte) error {
	m, err := parseStream(data)
	if err != nil {
		return err
	}
	f.pending = f.pending[:0]
	if m.change != nil {
		return f.change(m.change)
	}
	f.moved(m.end)
	if m.reply || f.owes() {
		return f.tell(false)
	}
	return nil
}

func (f *Feed) change(data []byte) error {
	m, err := pgoutput.Parse(data)
	if err != nil {
		return err
	}
	switch m.Kind {
	case pgoutput.Begin:
		f.xid = m.XID
	case pgoutput.Commit:
		f.moved(m.End)
		if f.owes() {
			return f.tell(false)
		}
	case pgoutput.Relation:
		if m.Relation == f.c.Table {
			f.key = slices.Index(m.Columns, f.c.Key)
		}
	case pgoutput.Truncate:
		if m.Truncated.Has(f.c.Table) {
			f.pending = append(f.pending, Event{Kind: Truncated, XID: f.xid})
		}
	case pgoutput.Insert, pgoutput.Update, pgoutput.Delete:
		if m.Relation != f.c.Table {
			return nil
		}
		for _, row := range []pgoutput.Tuple{m.Old, m.New} {
			if row == nil {
				continue
			}
			if err := f.changed(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Feed) changed(row pgoutput.Tuple) error {
	text, err := row.Text(f.key)
	if err != nil {
		return fmt.Errorf("the key of a changed row: %w", err)
	}
	key, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("the key of a changed row: %w", err)
	}
	f.pending = append(f.pending, Event{Kind: Changed, XID: f.xid, Key: key})
	return nil
}

func (f *Feed) moved(at pgoutput.LSN) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at > f.at {
		f.at = at
		f.pending = append(f.pending, Event{Kind: Moved, At: at})
	}
}
