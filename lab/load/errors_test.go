package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestStatusOf(t *testing.T) {
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for want, errs := range map[Status][]error{
		OK:      {nil},
		Timeout: {context.DeadlineExceeded, fmt.Errorf("x: %w", os.ErrDeadlineExceeded), op("dial", syscall.ETIMEDOUT)},
		Refused: {op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED))},
		Reset:   {op("read", syscall.ECONNRESET), op("write", syscall.EPIPE)},
		Connect: {op("dial", syscall.EHOSTUNREACH), &net.DNSError{Err: "no such host"}, op("dial", io.EOF)},
		Closed:  {io.EOF, fmt.Errorf("x: %w", io.ErrUnexpectedEOF), net.ErrClosed},
		Other:   {errors.New("balance too low")},
	} {
		for _, err := range errs {
			if got := StatusOf(err); got != want {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
	}
}
