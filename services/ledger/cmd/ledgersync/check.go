package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/trust"
)

// checkCommand proves a store again.
func checkCommand() *cobra.Command {
	var data, level string
	var asJSON, repair bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Prove again what is stored",
		Long: `Check reads every ledger that is stored and proves it again: that its bytes hash to what they did, that it is the
parent of the one above it, that its transactions are signed (after a sync at L4, or with --level L4), and that all
indexes have all of it. It exits with 1 if anything is wrong, also where a ledger that has its hash does not verify at L4.
What a sync has still to do is said, and is not wrong. It only reads.

With --repair it takes out what is damaged before: bytes that are no records go to DIR/quarantine, the index is made
again, and what was lost is still to be synced.`,
		Example: `  ledgersync check --data history
  ledgersync check --data history --repair
  ledgersync check --data history --level L4 --json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if level != "" {
				if _, err := trust.ParseLevel(level); err != nil {
					return daemon.Usage(fmt.Errorf("--level: %w", err))
				}
			}
			return checkFolder(cmd, data, folder.CheckOptions{Level: level, Repair: repair}, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", folder.Default, "the data folder `DIR`")
	flags.StringVar(&level, "level", "", "how much is proved: `LEVEL` L0 (bytes parsed) to L4 (signatures, too); without it, as far as the sync proved it, and L2 at least")
	flags.BoolVar(&repair, "repair", false, "take out what is damaged, so that sync fetches it again")
	flags.BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	return cmd
}

func checkFolder(cmd *cobra.Command, data string, o folder.CheckOptions, asJSON bool) error {
	var done, total atomic.Int64
	var bar *progress.Bar
	o.Progress = func(n, of int) {
		done.Store(int64(n))
		total.Store(int64(of))
		if bar == nil {
			bar = progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State {
				return progress.State{Done: done.Load(), Total: total.Load()}
			})
		}
	}
	report, err := folder.Check(cmd.Context(), data, o)
	if bar != nil {
		bar.Close()
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = printChecked(cmd.OutOrStdout(), report)
	}
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return fmt.Errorf("the store in %s is not clean: %w", data, err)
	}
	return nil
}

// printChecked says a report to people.
func printChecked(w io.Writer, r folder.CheckReport) error {
	var text bytes.Buffer
	if r.Repaired != nil {
		fmt.Fprintf(&text, "repaired: %d bytes are no records; in quarantine: %v\n", r.Repaired.Bytes, r.Repaired.Quarantined)
	}
	for _, f := range r.Failed {
		fmt.Fprintf(&text, "ledger %d: %s\n", f.LedgerIndex, f.Reason)
	}
	if r.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", r.More)
	}
	fmt.Fprintf(&text, "%d ledgers (%v), %d transactions, %d links, %d signatures: %d failures\n",
		r.Ledgers, r.Stored, r.Transactions, r.Links, r.Signatures, len(r.Failed)+r.More)
	text.WriteString(r.Summary())
	if r.Synced != "" {
		fmt.Fprintf(&text, "synced at %s\n", r.Synced)
	}
	for _, gap := range r.Gaps {
		fmt.Fprintf(&text, "still to be synced: %s\n", gap)
	}
	_, err := text.WriteTo(w)
	return err
}
