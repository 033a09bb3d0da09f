package main

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/output"
	"dyno/parts/progress"
	"dyno/parts/refusal"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/export"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/xrpl/history"
)

// exportCommand writes ledgers in other formats.
func exportCommand() *cobra.Command {
	var data, format, out string
	var r history.Range
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write stored ledgers as NDJSON or Parquet",
		Long: `Export writes stored ledgers, the lowest first. ndjson is a ledger a line, in the shape of a server's answer in
binary, which ledgersync verify reads. parquet is a row a transaction: ledger_index, close_time, position, hash,
account, type, tx_blob, meta.`,
		Example: `  ledgersync export --data history | ledgersync verify - --level L4
  ledgersync export --data history --format parquet --from 90000000 --to 90000999 -o history.parquet`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, err := refusal.Pick("format", export.Formats, format)
			if err != nil {
				return daemon.Usage(fmt.Errorf("--format: %w", err))
			}
			return exportTo(cmd, data, write, out, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", folder.Default, "the data folder `DIR`")
	flags.StringVar(&format, "format", "ndjson", "`FORMAT`: ndjson or parquet")
	flags.Uint32Var(&r.From, "from", 0, "the lowest ledger `INDEX` (default: the lowest stored)")
	flags.Uint32Var(&r.To, "to", 0, "the highest ledger `INDEX` (default: the highest stored)")
	flags.StringVarP(&out, "output", "o", "-", "the `FILE` to write; - is stdout")
	return cmd
}

func exportTo(cmd *cobra.Command, data string, write export.Format, out string, r history.Range) (err error) {
	s, err := folder.Open(data, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	marks, err := s.Marks(store.Everything)
	if err != nil {
		return err
	}
	fmt.Fprint(cmd.ErrOrStderr(), marks.Summary())
	ledgers := s.Stored() // gaps are left out, unless the user asks for a range
	if r != (history.Range{}) || len(ledgers) == 0 {
		if r, err = s.Span(r); err != nil {
			return daemon.Usage(err)
		}
		ledgers = history.Set{r}
	}
	var done atomic.Int64
	if out != "-" { // stdout is the same terminal, or a program with its own progress display
		bar := progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State {
			return progress.State{Done: done.Load(), Total: int64(ledgers.Len())}
		})
		defer bar.Close()
	}
	return output.To(out, cmd.OutOrStdout(), func(w io.Writer) error {
		return write(cmd.Context(), w, s, ledgers.Indexes(), func() { done.Add(1) })
	})
}
