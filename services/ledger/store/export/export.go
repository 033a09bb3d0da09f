// Package export writes stored ledgers in formats that other programs read: NDJSON, a ledger a line
// in the shape of a server's binary answer, which ledgersync verify reads; and Parquet, a row a
// transaction, for analysis.
//
// It is not for handing ledgers to another store, for which services/ledger/xrpl/pack has a format
// with checksums, and it does not decode transactions beyond their sender and type. Both are
// streaming: a ledger, or a group of rows, is in memory at a time. It starts no goroutines.
package export

import (
	"context"
	"io"
	"iter"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// Source is the source of ledgers: a store.
type Source interface {
	Ledger(index uint32, into *xrpl.Ledger) error
}

// Format writes the given ledgers in order, and calls report after each.
type Format func(ctx context.Context, w io.Writer, from Source, indexes iter.Seq[uint32], report func()) error

// Formats are the writers by name.
var Formats = map[string]Format{
	"ndjson":  NDJSON,
	"parquet": Parquet,
}

// NDJSON writes a ledger per line, in the form of a server's binary answer.
func NDJSON(ctx context.Context, w io.Writer, from Source, indexes iter.Seq[uint32], report func()) error {
	var line []byte
	return each(ctx, from, indexes, report, func(l *xrpl.Ledger) error {
		line = append(answer.AppendLine(line[:0], l), '\n')
		_, err := w.Write(line)
		return err
	})
}

func each(ctx context.Context, from Source, indexes iter.Seq[uint32], report func(), write func(*xrpl.Ledger) error) error {
	var l xrpl.Ledger
	for index := range indexes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := from.Ledger(index, &l); err != nil {
			return err
		}
		if err := write(&l); err != nil {
			return err
		}
		report()
	}
	return nil
}
