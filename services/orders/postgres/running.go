package postgres

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// runningTimeout bounds the question to a PostgreSQL whether it is the one.
const runningTimeout = 5 * time.Second

// Running returns the DSN of a database (see Options) of the PostgreSQL that another process runs
// in folder. ok is false when there is none, or when it does not accept connections now. It waits 5
// s at most.
func Running(folder, database string) (dsn string, ok bool) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	c := cluster{folder: folder}
	file, err := os.ReadFile(c.postmasterPID())
	if err != nil {
		return "", false
	}
	password, err := os.ReadFile(c.passwordFile())
	if err != nil {
		return "", false
	}
	address, ok := listening(string(file))
	if !ok {
		return "", false
	}
	url := dsnOf(database, string(password), address, database)
	return url, serves(url, c.data())
}

// listening reads where a PostgreSQL listens from its postmaster.pid, whose lines are: pid, data
// folder, time of the start, port, folder of sockets, first address, shared memory, state.
func listening(file string) (address string, ok bool) {
	lines := strings.Split(file, "\n")
	if len(lines) < 6 {
		return "", false // it starts, and has not bound its port yet
	}
	port, err := strconv.ParseUint(strings.TrimSpace(lines[3]), 10, 16)
	host := net.ParseIP(strings.TrimSpace(lines[5]))
	if err != nil || port == 0 || host == nil || !host.IsLoopback() {
		return "", false
	}
	return net.JoinHostPort(host.String(), strconv.FormatUint(port, 10)), true
}

// serves asks the server at the DSN whether it is the PostgreSQL of this data: the file may be left
// over from one that was killed.
func serves(dsn, data string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), runningTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	var theirs string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&theirs); err != nil {
		return false
	}
	a, err := os.Stat(theirs)
	if err != nil {
		return false
	}
	b, err := os.Stat(data)
	return err == nil && os.SameFile(a, b)
}
