package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/http"
	"os"
	"sync/atomic"

	"dyno/subjects/bounds/suite"
)

var accounts = suite.Entry{
	Name: "sql-commit", Family: "libraries", Truth: "wait", Kind: "disk", OrKind: "pool", Function: "main.(*bank).pay",
	InWords: "each request is a transaction on one of few connections, and a connection is held until the disk has the commit",
	Method:  "GET", Path: "/pay", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		open, record := d.Between("max_open", 1, 3), d.Between("record_bytes", 4096, 64<<10)
		return func() (*suite.Service, error) {
			file, err := os.CreateTemp("", "libraries-")
			if err != nil {
				return nil, err
			}
			os.Remove(file.Name())
			db := sql.OpenDB(&filed{file: file, record: make([]byte, record)})
			db.SetMaxOpenConns(open)
			db.SetMaxIdleConns(open)
			return suite.ServingUntil("GET /pay", (&bank{db}).pay, func() { db.Close(); file.Close() }), nil
		}
	},
}

// bank pays by transactions.
type bank struct{ db *sql.DB }

func (b *bank) pay(w http.ResponseWriter, r *http.Request) {
	tx, err := b.db.BeginTx(r.Context(), nil)
	if err != nil {
		answer(w, err)
		return
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(r.Context(), "UPDATE"); err != nil {
		answer(w, err)
		return
	}
	answer(w, tx.Commit())
}

// filed is a driver whose commits write a record to a file and wait until the disk has it.
type filed struct {
	file   *os.File
	record []byte
	next   atomic.Int64
}

func (f *filed) Connect(context.Context) (driver.Conn, error) { return &filedConn{f}, nil }
func (f *filed) Driver() driver.Driver                        { return nil }

// filedConn is one connection.
type filedConn struct{ *filed }

func (c *filedConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("there are no prepared statements")
}
func (c *filedConn) Close() error              { return nil }
func (c *filedConn) Begin() (driver.Tx, error) { return c, nil }
func (c *filedConn) Rollback() error           { return nil }

func (c *filedConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

// largest bounds the file, in bytes; then the oldest records are overwritten.
const largest = 64 << 20

func (c *filedConn) Commit() error {
	if _, err := c.file.WriteAt(c.record, c.next.Add(1)*int64(len(c.record))%largest); err != nil {
		return err
	}
	return c.file.Sync()
}
