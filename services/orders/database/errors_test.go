package database

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestErrors(t *testing.T) {
	said := func(code string) error {
		return fmt.Errorf("reading: %w", &pgconn.PgError{Severity: "FATAL", Code: code, Message: "no"})
	}
	for _, c := range []struct {
		name                string
		err                 error
		broken, unavailable bool
	}{
		{"connection reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true, true},
		{"broken pipe", fmt.Errorf("write failed: %w", syscall.EPIPE), true, true},
		{"end", io.ErrUnexpectedEOF, true, true},
		{"closed before", pgconn.ErrConnClosed, true, true},
		{"given up by database/sql", sqldriver.ErrBadConn, true, true},
		{"time-out of the network", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false, true},
		{"deadline", fmt.Errorf("acquiring: %w", context.DeadlineExceeded), false, true},
		{"shutdown", said("57P01"), true, true},
		{"crash", said("57P02"), true, true},
		{"starting", said("57P03"), true, true},
		{"too many connections", said("53300"), false, true},
		{"disk full", said("53100"), false, true},
		{"statement_timeout", said("57014"), false, true},
		{"standby", said("25006"), false, true},
		{"lock_timeout", said("55P03"), false, true},
		{"check", said("23514"), false, false},
		{"permission", said("42501"), false, false},
		{"row", errors.New("a row of another schema"), false, false},
	} {
		if got := Broken(c.err); got != c.broken {
			t.Errorf("%s: broken is %v", c.name, got)
		}
		const where = "db.example:5432/orders"
		err := Explain(t.Context(), where, "reading", c.err)
		if errors.Is(err, order.ErrUnavailable) != c.unavailable || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.unavailable && !errors.Is(err, c.err) {
			t.Errorf("%s: %v hides its cause", c.name, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Explain(gone, where, "reading", c.err); !errors.Is(err, context.Canceled) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s, the caller gone: %v", c.name, err)
		}
	}
}

// What no later attempt can change is refused; of several hosts, only when none may just be away.
func TestRefusals(t *testing.T) {
	said := func(code, text string) error { return &pgconn.PgError{Severity: "FATAL", Code: code, Message: text} }
	away := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		errs []error
		says string // "": it is unavailable
	}{
		{[]error{said("28P01", "password authentication failed")}, "user and password"},
		{[]error{said("28000", "no pg_hba.conf entry")}, "pg_hba.conf"},
		{[]error{said("3D000", "database x does not exist")}, "make the database"},
		{[]error{said("42501", "permission denied for database")}, "CONNECT"},
		{[]error{errors.New("tls error: server refused TLS connection"), said("08P01", "unsupported startup parameter: search_path")}, "take search_path out"},
		{[]error{said("08P01", "unsupported startup parameter in options: jit")}, "take jit out"},
		{[]error{said("08P01", "no such database: x")}, "make the database"},
		{[]error{said("08P01", "password authentication failed")}, "user and password"},
		{[]error{said("08P01", "query_wait_timeout")}, ""},
		{[]error{said("57P03", "the database system is starting up")}, ""},
		{[]error{said("53300", "too many clients")}, ""},
		{[]error{said("28P01", "no"), away}, ""},
		{[]error{away, said("28P01", "no")}, ""},
		{[]error{said("28P01", "no"), said("57P03", "starting")}, ""},
	} {
		connecting := fmt.Errorf("acquiring: %w", errors.Join(append([]error{new(pgconn.ConnectError)}, c.errs...)...))
		err := Explain(t.Context(), "db:5432/orders", "reading", connecting)
		if refused := errors.Is(err, order.ErrRefused); refused != (c.says != "") || refused == errors.Is(err, order.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.errs, err, c.says)
		}
	}
}

// A host that refuses is not tried again, and told without the password.
func TestRefused(t *testing.T) {
	_, err := pgx.Connect(t.Context(), "postgres://a:secret@127.0.0.1:1/db?sslmode=disable")
	if err == nil || Broken(err) {
		t.Fatal(err)
	}
	if err := Explain(t.Context(), "127.0.0.1:1/db", "reading", err); !errors.Is(err, order.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
