package dsn

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
