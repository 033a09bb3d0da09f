package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// openExisting opens a folder that is to be read.
func openExisting(name string, args []string, stderr io.Writer) (db *store, asJSON bool, err error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	data := flags.String("data", "ledgersync-plain-data", "`folder` of the ledgers")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	if err := parse(flags, args, stderr); err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(*data); err != nil {
		return nil, false, err
	}
	db, err = openStore(*data)
	return db, asJSON, err
}

// failure is a stored ledger that is not what it should be.
type failure struct {
	Index  uint32 `json:"ledger_index"`
	Reason string `json:"reason"`
}

// checkCommand proves once more what is stored: every ledger, and the links between neighbours.
func checkCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	db, asJSON, err := openExisting("check", args, stderr)
	if err != nil {
		return err
	}
	defer db.close()
	var report struct {
		Ledgers      int       `json:"ledgers"`
		Transactions int       `json:"transactions"`
		Links        int       `json:"links"`
		Failed       []failure `json:"failed"`
	}
	report.Failed = []failure{}
	var below link
	err = db.each(func(index uint32, l ledger) error {
		at, err := verify(l)
		linked := below.index > 0 && below.index == index-1
		switch {
		case err != nil:
		case at.index != index:
			err = fmt.Errorf("it is ledger %d", at.index)
		case linked && at.parent != below.hash:
			err = errors.New("its parent is not the ledger that is stored below it")
		case linked:
			report.Links++
		}
		if err != nil {
			report.Failed = append(report.Failed, failure{index, err.Error()})
		}
		report.Ledgers++
		report.Transactions += len(l.transactions)
		below = at
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(stdout).Encode(report)
	} else {
		_, err = fmt.Fprintf(stdout, "%d ledgers, %d transactions, %d links; wrong: %d %v\n", report.Ledgers, report.Transactions, report.Links, len(report.Failed), report.Failed)
	}
	if err == nil && len(report.Failed) > 0 {
		err = fmt.Errorf("%d of %d ledgers are not what they should be", len(report.Failed), report.Ledgers)
	}
	return err
}

// exportCommand prints what is stored as servers answer it, a ledger a line.
func exportCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	db, _, err := openExisting("export", args, stderr)
	if err != nil {
		return err
	}
	defer db.close()
	out := bufio.NewWriter(stdout)
	err = db.each(func(index uint32, l ledger) error {
		line, err := encode(l, index)
		if err != nil {
			return err
		}
		out.Write(append(line, '\n'))
		return ctx.Err()
	})
	return errors.Join(err, out.Flush())
}
