package sessions_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"dyno/lab/load/sessions"
)

// lines is a driver for a server that echoes lines of text.
type lines struct{ addr string }

func (d lines) Open(ctx context.Context, _ int) (sessions.Session, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, err
	}
	return &line{conn: conn, in: bufio.NewReader(conn)}, nil
}

type line struct {
	conn net.Conn
	in   *bufio.Reader
	stop func() bool
}

func (l *line) Send(_ context.Context, number uint64) error {
	_, err := fmt.Fprintln(l.conn, number)
	return err
}

func (l *line) Receive(ctx context.Context) (sessions.Received, error) {
	if l.stop == nil { // ctx is the same in every call
		l.stop = context.AfterFunc(ctx, func() { l.conn.Close() })
	}
	text, err := l.in.ReadString('\n')
	if err != nil {
		return sessions.Received{}, err
	}
	number, err := strconv.ParseUint(text[:len(text)-1], 10, 64)
	return sessions.Received{Acked: number, Frames: 1, Bytes: len(text)}, err
}

func (l *line) Close() error {
	if l.stop != nil {
		l.stop()
	}
	return l.conn.Close()
}

// serve echoes lines until the listener closes.
func serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			io.Copy(conn, conn)
		}()
	}
}

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go serve(l)
	config := sessions.Config{Name: "lines", URL: l.Addr().String(), Driver: lines{l.Addr().String()},
		Sessions: 10, Rate: 20, Warmup: 100 * time.Millisecond, Length: 500 * time.Millisecond}
	result, err := sessions.Run(context.Background(), config)
	if err != nil {
		fmt.Println(err)
		return
	}
	t := result.Totals
	fmt.Printf("%d of %d messages acknowledged, %d sessions lost\n", t.Completed, t.Offered, t.Sessions.Lost)
	// Output: 100 of 100 messages acknowledged, 0 sessions lost
}

// Under the lab, a program prints its windows; otherwise it prints one object of the schema
// dyno.load/1.
func ExampleWindows() {
	config := sessions.Config{Driver: lines{"127.0.0.1:1"}, Sessions: 10, Rate: 20, Length: 100 * time.Millisecond}
	if err := sessions.Windows(context.Background(), config, os.Stdout); err != nil {
		os.Exit(1)
	}
}
