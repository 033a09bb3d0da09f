// Command redis starts redis-server with appendfsync always, lets writers append records of 256
// bytes to a stream, each over a connection of its own, and prints the appends as the windows of a
// job. The server syncs its append-only file once for all that it read in one turn, before it
// answers.
//
//	redis --writers 64 --batch 1 --data DIR
//
// It is not for Redis as it comes, which may lose a second of records. It starts one process, which
// has ended when it ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"dyno/bench/peers/callers"
)

func main() {
	writers := flag.Int("writers", 64, "connections, each with one append after the other")
	batch := flag.Int("batch", 1, "records in an append, sent as a pipeline")
	dir := flag.String("data", "", "`folder` of the append-only file, on the disk in question")
	flag.Parse()
	callers.Main("redis", func(ctx context.Context) error {
		address, stop, err := start(*dir)
		if err != nil {
			return err
		}
		defer stop()
		if err := await(ctx, address); err != nil {
			return err
		}
		return callers.Run(ctx, os.Stdout, *writers, *batch, func(int) (func() error, error) { return appender(address, *batch) })
	})
}

func start(dir string) (address string, stop func(), err error) {
	if dir == "" {
		return "", nil, errors.New("--data is missing: the folder of the append-only file")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port; another process may take it before the server does
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	stop, err = callers.Child("apt-get install redis-server, or brew install redis", "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no")
	return address, stop, err
}

// await returns when the server answers.
func await(ctx context.Context, address string) error {
	const patience, poll = 10 * time.Second, 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer at %s: %w", address, err)
		case <-time.After(poll):
		}
	}
}

// appender returns what appends records on a connection of its own. It costs the client as little
// as a request of peers/raw costs: with a client library the client would be the limit.
func appender(address string, batch int) (func() error, error) {
	conn, err := net.Dial("tcp", address) // it ends with the process
	if err != nil {
		return nil, err
	}
	var command strings.Builder
	for _, record := range callers.Records(batch) {
		words := []string{"XADD", "records", "*", "r", string(record)}
		command.WriteString("*" + strconv.Itoa(len(words)) + "\r\n")
		for _, w := range words {
			command.WriteString("$" + strconv.Itoa(len(w)) + "\r\n" + w + "\r\n")
		}
	}
	send, answers := []byte(command.String()), bufio.NewReader(conn)
	return func() error {
		if _, err := conn.Write(send); err != nil {
			return err
		}
		for range batch {
			if err := answer(answers); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// answer reads $LENGTH and the record's id, a line each.
func answer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err == nil && line[0] != '$' {
		err = fmt.Errorf("redis answered %.200q", line)
	}
	if err == nil {
		_, err = r.ReadSlice('\n')
	}
	return err
}
