package export

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/output"
)

// Command returns the command "export".
func Command() *cobra.Command {
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return daemon.Usage(fmt.Errorf("export takes flags alone; %s is none", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, ok := Formats[format]; !ok {
				return daemon.Usage(fmt.Errorf("--format %s: there are %s", format, strings.Join(slices.Sorted(maps.Keys(Formats)), ", ")))
			}
			return export(cmd, data, format, out, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", store.DefaultFolder, "the data folder `DIR`")
	flags.StringVar(&format, "format", "ndjson", "`FORMAT`: ndjson or parquet")
	flags.Uint32Var(&r.From, "from", 0, "the lowest ledger `INDEX` (default: the lowest stored)")
	flags.Uint32Var(&r.To, "to", 0, "the highest ledger `INDEX` (default: the highest stored)")
	flags.StringVarP(&out, "output", "o", "-", "the `FILE` to write; - is stdout")
	return cmd
}

func export(cmd *cobra.Command, data, format, out string, r history.Range) (err error) {
	s, err := store.OpenFolder(data, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	marks, err := s.Marks(store.Everything)
	if err != nil {
		return err
	}
	fmt.Fprint(cmd.ErrOrStderr(), marks.Summary())
	ledgers := s.Stored() // gaps are left out, unless somebody asks for a range
	if r != (history.Range{}) || len(ledgers) == 0 {
		if r, err = s.Span(r); err != nil {
			return daemon.Usage(err)
		}
		ledgers = history.Set{r}
	}
	var done atomic.Int64
	if out != "-" { // else what is written is beside it on the terminal, or goes to a program that says itself how far it is
		bar := progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State {
			return progress.State{Done: done.Load(), Total: int64(ledgers.Len())}
		})
		defer bar.Close()
	}
	var indexes iter.Seq[uint32] = ledgers.Indexes()
	return output.To(out, cmd.OutOrStdout(), func(w io.Writer) error {
		return Formats[format](cmd.Context(), w, s, indexes, func() { done.Add(1) })
	})
}
