package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"dyno/bench/peers/callers"
	"dyno/parts/freeport"
)

// openRedis starts redis-server with appendfsync always. It syncs its append-only file once for all
// that it read in one turn, before it answers.
func openRedis(ctx context.Context, o options) (opened, error) {
	address, stop, err := startRedis(o.dir)
	if err != nil {
		return opened{}, err
	}
	if err := callers.Await(ctx, 10*time.Second, callers.Connecting(address)); err != nil {
		stop()
		return opened{}, fmt.Errorf("redis-server does not answer: %w", err)
	}
	return opened{
		writer: func() (func() error, error) { return appender(address, o.batch) },
		close:  func() error { stop(); return nil },
	}, nil
}

func startRedis(dir string) (address string, stop func(), err error) {
	free, err := freeport.Loopback(1)
	if err != nil {
		return "", nil, err
	}
	address, port := free[0].String(), strconv.Itoa(int(free[0].Port()))
	stop, err = callers.Child("apt-get install redis-server, or brew install redis", "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no")
	return address, stop, err
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
