package database

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5/pgconn"
)

// Broken reports whether the connection that it happened on was lost, as with a restart: another
// may do better. That none could be made is not this.
func Broken(err error) bool {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		return false
	}
	if fault, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(fault.Code, "57P") // the server ends, crashed, or starts
	}
	if fault, ok := errors.AsType[net.Error](err); ok && fault.Timeout() {
		return false
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || pgconn.SafeToRetry(err)
}

// Explain says what an error from the database at a place means: context.Canceled when the caller
// went away, order.ErrRefused when no connection will ever be made like this, order.ErrUnavailable
// when the database did not answer. What else PostgreSQL says is passed on.
func Explain(ctx context.Context, where, doing string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s in %s: %w", doing, where, context.Canceled)
	}
	if fix, refused := refusal(err); refused {
		return fmt.Errorf("%w: %s in %s: %w; %s", order.ErrRefused, doing, where, err, fix)
	}
	fix, unavailable := diagnose(err)
	if !unavailable {
		return fmt.Errorf("%s in %s: %w", doing, where, err)
	}
	// The cause is in the text but not wrapped: it may be the cancellation of something that is not
	// the caller's.
	return fmt.Errorf("%w: %s in %s: %v; %s", order.ErrUnavailable, doing, where, err, fix)
}

// diagnose reports whether an error means that the database does not answer, and what helps.
func diagnose(err error) (fix string, unavailable bool) {
	fault, answered := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case answered && fault.Code == "53300":
		return "raise its max_connections, or give the pools fewer", true
	case answered && fault.Code == "57014":
		return "it took longer than the time-out: look at its load and at what it waits for, or raise the time-out", true
	case answered && fault.Code == "25006":
		return "it is a standby: name all hosts in the DSN, so that the primary is found", true
	case answered && strings.HasPrefix(fault.Code, "57P"):
		return "it is starting or stopping: try again soon", true
	case answered && strings.HasPrefix(fault.Code, "53"):
		return "it has run out of disk, memory or another resource: look at its log", true
	case answered && (strings.HasPrefix(fault.Code, "08") || fault.Code == "55P03"):
		return "try again", true
	case connecting:
		return "check that it runs, and that the DSN's host, port, user and password are right", true
	case answered:
		return "", false
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return "it did not answer in time, or too many wait for its connections: look at its load, and at the size of the pools of a pooler before it", true
	}
	if _, ok := errors.AsType[net.Error](err); ok || Broken(err) {
		return "the connection was lost: check that it runs", true
	}
	return "", false
}
