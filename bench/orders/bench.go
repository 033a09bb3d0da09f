package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/target"
	"dyno/parts/process"
)

// bench is what stays the same over the rounds.
type bench struct {
	options
	work     string // folder: programs, keys, the database; removed at the end
	programs map[string]string
	keys     string // JWKS file
	database *database
	pgbench  *pgbench // nil: there is none
	machine  record.Machine
	slo      record.SLO
	requests *load.Corpus
	tokens   []request // that answers are compared by
	pool     int       // connections of the peer to the database
	counts   struct{ runs, disturbed int }
	began    time.Time // the measurement
}

// Sides, by their names in the tables.
const (
	ordersd = "ordersd"
	peer    = "fasthttp+pgx"
	plain   = "plain"
	bare    = "pgbench -S"
)

var (
	servers  = []string{ordersd, peer, plain}
	packages = map[string]string{
		ordersd: "dyno/cmd/ordersd",
		peer:    "dyno/bench/orders/peer",
		plain:   "dyno/services/orders/plain",
	}
)

// assembly is ordersd's.
const assembly = "tuned"

// objective is when a rate counts as carried.
const objective = "p99=20ms,errors=0.1%"

// newBench builds the programs, starts PostgreSQL and fills it.
func newBench(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{options: o, programs: map[string]string{}, machine: probe.Machine()}
	if b.slo, err = record.ParseSLO(objective); err != nil {
		return nil, err
	}
	if b.work, err = os.MkdirTemp(o.dir, "bench-orders-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.work, err = filepath.Abs(b.work); err != nil {
		return nil, err
	}
	if err := os.Chmod(b.work, 0o711); err != nil { // PostgreSQL is another user where this one is root
		return nil, err
	}
	for _, name := range servers {
		say("building %s", packages[name])
		if b.programs[name], err = process.Build(ctx, ".", packages[name], filepath.Join(b.work, "bin")); err != nil {
			return nil, fmt.Errorf("run this inside the repository: %w", err)
		}
	}
	if err := b.feed(ctx); err != nil {
		return nil, err
	}
	say("starting PostgreSQL with %d orders", o.rows)
	if b.database, err = b.startDatabase(ctx); err != nil {
		return nil, err
	}
	b.pgbench, err = b.newPgbench(ctx)
	return b, err
}

// close ends PostgreSQL and removes what was made.
func (b *bench) close() error {
	var err error
	if b.database != nil {
		err = b.database.stop()
	}
	return errors.Join(err, os.RemoveAll(b.work))
}

// feed has ordersd make a key and the tokens, and builds the requests.
func (b *bench) feed(ctx context.Context) error {
	b.keys = filepath.Join(b.work, "jwks.json")
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.programs[ordersd], "feed", "--rows", strconv.Itoa(b.rows), "--accounts", strconv.Itoa(b.accounts),
		"--count", strconv.Itoa(b.lines), "--jwt-keys", b.keys)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ordersd feed: %w\n%s", err, said.Bytes())
	}
	if b.tokens, err = readRequests(bytes.NewReader(out)); err != nil {
		return err
	}
	rows, err := corpus.ReadCSV(bytes.NewReader(out))
	if err != nil {
		return fmt.Errorf("ordersd feed: %w", err)
	}
	b.requests, err = corpus.Build(corpus.Spec{Rows: rows, Classes: []corpus.Class{{
		Method: "GET", Path: path + "${row.uid}", Header: map[string]string{"Authorization": "Bearer ${row.token}"},
		Check: load.Check{Status: []int{200}},
	}}})
	return err
}

// path asks for an order by its number.
const path = "/api/v1/order?uid="

// start starts a server in a fresh process.
func (b *bench) start(ctx context.Context, side string) (*process.Process, error) {
	args := []string{b.programs[side]}
	switch side {
	case ordersd:
		args = append(args, "serve", "--assembly", assembly, "--log-level", "warn", "--debug", "127.0.0.1:0", "--data", filepath.Join(b.work, "ordersd"))
	case peer:
		args = append(args, "--connections", strconv.Itoa(b.pool))
	}
	args = append(args, "--listen", "127.0.0.1:0", "--dsn", b.database.dsn, "--jwt-keys", b.keys)
	return target.Start(ctx, process.Spec{Name: side, Command: args, ReadyLine: true})
}

// grace is how long a server may take to end after it was told to: what an overloaded one still wants to finish is
// of no interest.
const grace = 500 * time.Millisecond

// end stops a process and says if it had ended by itself.
func end(p *process.Process) error {
	select {
	case <-p.Exited():
		return errors.Join(errors.New("it ended while it was measured"), p.Err())
	default:
		p.Stop(grace)
		return nil
	}
}

// say tells how far it is, beside the tables.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, strings.TrimSuffix(format, "\n")+"\n", args...)
}
