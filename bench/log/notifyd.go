package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"dyno/lab/target"
	"dyno/parts/process"
)

// notifydIngest posts notices to notifyd. It has no subscribers, as the other servers have no consumers.
func notifydIngest(ctx context.Context, e environment) (*opened, error) {
	p, err := target.Start(ctx, process.Spec{Name: "notifyd", ReadyLine: true, Command: []string{
		e.notifyd, "serve", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", e.dir,
	}})
	if err != nil {
		return nil, err
	}
	address := p.Ready()["listen"]
	request := ingestRequest(address, e.batch)
	return &opened{
		pid:   p.PID(),
		close: func() error { return p.Stop(stopGrace) },
		caller: func(int) (func() error, error) {
			conn, err := net.Dial("tcp", address) // ends with the process
			if err != nil {
				return nil, err
			}
			answers := bufio.NewReaderSize(conn, 64<<10)
			return func() error {
				if _, err := conn.Write(request); err != nil {
					return err
				}
				return accepted(answers)
			}, nil
		},
	}, nil
}

// ingestRequest is a whole request: one notice as JSON, or several as NDJSON, of 256 bytes each.
func ingestRequest(host string, batch int) []byte {
	var body bytes.Buffer
	for i, filling := range records(batch, recordBytes) {
		head := fmt.Sprintf(`{"key":"key-%04d","type":"order.paid","payload":"`, i)
		const tail = "\"}\n"
		body.WriteString(head)
		body.Write(filling[:recordBytes-len(head)-len(tail)])
		body.WriteString(tail)
	}
	kind := "application/json"
	if batch > 1 {
		kind = "application/x-ndjson"
	}
	return fmt.Appendf(nil, "POST /v1/notices HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", host, kind, body.Len(), body.Bytes())
}

// accepted reads one answer, which must be 202. It costs next to nothing, so that the server has the cores.
func accepted(r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	status := strings.TrimSpace(line)
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); strings.EqualFold(string(name), "Content-Length") {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return fmt.Errorf("an answer of length %.20q: %w", value, err)
			}
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 202 ") {
		said, _ := io.ReadAll(io.LimitReader(r, int64(min(max(length, 0), 500))))
		return fmt.Errorf("notifyd answered %s: %s", status, said)
	}
	if length >= 0 {
		_, err = r.Discard(length)
		return err
	}
	return discardChunks(r)
}

// discardChunks passes over a body of unknown length.
func discardChunks(r *bufio.Reader) error {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(strings.TrimSpace(line), 16, 31)
		if err != nil {
			return fmt.Errorf("a chunk of length %.20q: %w", line, err)
		}
		if _, err := r.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}
