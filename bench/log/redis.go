package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dyno/lab/target"
	"dyno/parts/process"
)

// redisStream appends to a stream of a redis-server that syncs its append-only file before it answers.
// The server does so once for all that it read in one turn.
func redisStream(ctx context.Context, e environment) (*opened, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p, err := target.Start(ctx, process.Spec{Name: "redis-server", Command: []string{
		"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", e.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no",
	}})
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: e.callers, MaxRetries: -1, DisableIdentity: true})
	o := &opened{pid: p.PID(), close: func() error { return errors.Join(client.Close(), p.Stop(stopGrace)) }}
	if err := awaitRedis(ctx, client, p); err != nil {
		return nil, errors.Join(err, o.close())
	}
	values := make([]any, 2)
	values[0], values[1] = "r", string(records(1, recordBytes)[0])
	add := &redis.XAddArgs{Stream: streamName, Values: values}
	if e.batch == 1 {
		o.caller = func(int) (func() error, error) { return plainXAdd(address, values[1].(string)) }
		return o, nil
	}
	o.caller = func(int) (func() error, error) {
		return func() error {
			_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for range e.batch {
					pipe.XAdd(ctx, add)
				}
				return nil
			})
			return err
		}, nil
	}
	return o, nil
}

// plainXAdd appends on a connection of its own, which costs the client as little as a POST to notifyd: with a client
// library the generator would be what limits.
func plainXAdd(address, value string) (func() error, error) {
	conn, err := net.Dial("tcp", address) // ends with the process
	if err != nil {
		return nil, err
	}
	command := fmt.Appendf(nil, "*5\r\n$4\r\nXADD\r\n$%d\r\n%s\r\n$1\r\n*\r\n$1\r\nr\r\n$%d\r\n%s\r\n", len(streamName), streamName, len(value), value)
	answers := bufio.NewReader(conn)
	return func() error {
		if _, err := conn.Write(command); err != nil {
			return err
		}
		for { // $LENGTH and the record's id, a line each
			line, err := answers.ReadString('\n')
			if err != nil {
				return err
			}
			if line[0] == '-' {
				return fmt.Errorf("redis answered %.200s", line)
			}
			if line[0] != '$' {
				return nil
			}
		}
	}, nil
}

func awaitRedis(ctx context.Context, client *redis.Client, p *process.Process) error {
	for range 200 {
		if client.Ping(ctx).Err() == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("redis-server ended: %s", p.LogTail(5))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("redis-server does not answer")
}

// freePort is one that nobody listens at; another may take it before it is used, and the run fails then.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
