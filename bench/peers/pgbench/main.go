// Command pgbench runs pgbench -S -M prepared, the database alone, and prints what it did as a job.
// Pgbench reports a rate every second: its transactions are spread evenly over the windows of that
// second, and have no latencies.
//
//	pgbench --dsn postgres://127.0.0.1:5432/orders --clients 16
//
// Its tables of 100,000 accounts are in the database pgbench of the same server; the first run
// makes them. It is not for what a service gets out of that database. It starts one process, which
// has ended when it ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"dyno/agent/monotonic"
	"dyno/bench/peers/callers"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/jackc/pgx/v5"
)

func main() {
	dsn := flag.String("dsn", "", "`URL` of a database of the server")
	clients := flag.Int("clients", 8, "connections, each with one transaction after the other")
	flag.Parse()
	callers.Main("pgbench", func(ctx context.Context) error {
		path, err := exec.LookPath("pgbench")
		if err != nil {
			return errors.New("pgbench is not installed (Debian: apt-get install postgresql, which has it; macOS: brew install postgresql)")
		}
		own, err := prepare(ctx, path, *dsn)
		if err != nil {
			return fmt.Errorf("making pgbench's tables: %w", err)
		}
		out := windows.NewWriter(os.Stdout)
		err = run(ctx, out, path, own, *clients)
		return errors.Join(err, out.Close(err))
	})
}

// prepare makes pgbench's own database and tables, unless they are there, and returns its URL.
func prepare(ctx context.Context, path, dsn string) (string, error) {
	const name = "pgbench"
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("--dsn %q is not the URL of a database", dsn)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil {
		return "", err
	}
	u.Path = "/" + name
	if there {
		return u.String(), nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	if said, err := exec.CommandContext(ctx, path, "-i", "-s", "1", "-q", u.String()).CombinedOutput(); err != nil {
		_, undo := conn.Exec(context.WithoutCancel(ctx), "DROP DATABASE "+name) // so that the next run makes them
		return "", errors.Join(fmt.Errorf("%w: %.500s", err, said), undo)
	}
	return u.String(), nil
}

// run prints what pgbench reports until ctx ends.
func run(ctx context.Context, out *windows.Writer, path, dsn string, clients int) error {
	const longest = 24 * time.Hour // the lab stops it
	cmd := exec.CommandContext(ctx, path, "-n", "-S", "-M", "prepared", "-P", "1", "-c", strconv.Itoa(clients),
		"-j", strconv.Itoa(min(runtime.NumCPU(), clients)), "-T", strconv.Itoa(int(longest.Seconds())), dsn)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = relay(out, said, monotonic.Now)
	if ended := cmd.Wait(); ctx.Err() == nil {
		return errors.Join(err, ended)
	}
	return nil
}

const window = int64(record.WindowLength)

var progress = regexp.MustCompile(`^progress: [0-9.]+ s, ([0-9.]+) tps,.*?(?:, ([0-9]+) failed)?$`)

// relay prints the transactions of each line of progress over the windows since the one before.
func relay(out *windows.Writer, said io.Reader, now func() int64) error {
	next := now() / window * window // the window that comes next
	left := 0.0                     // of transactions, below one
	other := ""
	for lines := bufio.NewScanner(said); lines.Scan(); {
		m := progress.FindStringSubmatch(lines.Text())
		if m == nil {
			other = lines.Text()
			continue
		}
		rate, err := strconv.ParseFloat(m[1], 64)
		if err != nil || m[2] != "" && m[2] != "0" {
			return fmt.Errorf("pgbench reports %q", lines.Text())
		}
		for end := now() / window * window; next < end; next += window {
			left += rate * record.WindowLength.Seconds()
			done := int64(math.Floor(left))
			left -= float64(done)
			w := record.Window{Start: next, Phase: record.PhaseMeasure, Client: record.Client{Offered: done, Sent: done, Ended: done}}
			if err := out.Window(w, nil); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("pgbench ended: %s", other)
}
