package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"dyno/cmd/dyno/usage"
	"dyno/lab/report/history"
	"dyno/lab/report/html"

	"github.com/spf13/cobra"
)

// page is the name of the page in the folder of a history.
const page = "history.html"

// historyObject is what dyno history prints with --json.
type historyObject struct {
	Schema  string          `json:"schema"`
	Entries []history.Entry `json:"entries"`
	Changes []string        `json:"changes"` // in words
	Page    string          `json:"page"`    // the file with the charts
}

func newHistory() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "Draw capacity, CPU and allocations over commits, with their change points",
		Long: `History reads the verdicts that dyno compare --history DIR appended to DIR/history.ndjson, prints a table of each
program over its commits, and writes DIR/history.html. A change point is a revision that took turns with the one
before, or both of which took turns with the same third, and whose ratio differs from 1 by 2% or more with an interval
that excludes 1. All intervals of a figure together hold at 95%.`,
		Example: `  dyno compare ./cmd/server --a HEAD~1 --b HEAD --history perf
  dyno history perf`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := history.Read(args[0])
			if _, missing := os.Stat(filepath.Join(args[0], history.File)); err != nil && missing != nil {
				return usage.Of(err)
			}
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := html.History(&b, entries); err != nil {
				return err
			}
			file := filepath.Join(args[0], page)
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(historyObject{history.Schema, entries, history.AllChanges(entries), file})
			}
			if err := history.Text(cmd.OutOrStdout(), entries); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "\npage:", file)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
