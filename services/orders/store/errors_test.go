package store

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
		{"row", errRow, false, false},
	} {
		if got := broken(c.err); got != c.broken {
			t.Errorf("%s: broken is %v", c.name, got)
		}
		d := database{where: "db.example:5432/orders"}
		err := d.explain(t.Context(), "reading", c.err)
		if errors.Is(err, order.ErrUnavailable) != c.unavailable || !strings.Contains(err.Error(), d.where) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.unavailable && !errors.Is(err, c.err) {
			t.Errorf("%s: %v hides its cause", c.name, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.explain(gone, "reading", c.err); !errors.Is(err, context.Canceled) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s, the caller gone: %v", c.name, err)
		}
	}
}

// A host that refuses is not tried again, and told without the password.
func TestRefused(t *testing.T) {
	_, err := pgx.Connect(t.Context(), "postgres://a:secret@127.0.0.1:1/db?sslmode=disable")
	if err == nil || broken(err) {
		t.Fatal(err)
	}
	d := database{where: "127.0.0.1:1/db"}
	if err := d.explain(t.Context(), "reading", err); !errors.Is(err, order.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
