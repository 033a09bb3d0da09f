package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/ledger/trust"
)

// CheckCommand returns the command "check".
func CheckCommand() *cobra.Command {
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if level != "" {
				if _, err := trust.ParseLevel(level); err != nil {
					return daemon.Usage(fmt.Errorf("--level: %w", err))
				}
			}
			return check(cmd, data, level, repair, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", DefaultFolder, "the data folder `DIR`")
	flags.StringVar(&level, "level", "", "how much is proved: `LEVEL` L0 (bytes parsed) to L4 (signatures, too); without it, as far as the sync proved it, and L2 at least")
	flags.BoolVar(&repair, "repair", false, "take out what is damaged, so that sync fetches it again")
	flags.BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return daemon.Usage(fmt.Errorf("%s takes flags alone; %s is none", cmd.Name(), args[0]))
	}
	return nil
}

func check(cmd *cobra.Command, data, asked string, repair, asJSON bool) (err error) {
	var s *Store
	var repaired *Repaired
	if repair {
		repaired = new(Repaired)
		s, *repaired, err = RepairFolder(data, Options{})
	} else {
		s, err = OpenFolder(data, Options{ReadOnly: true})
	}
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Close(); err == nil {
			err = e
		}
	}()
	if asked == "" {
		asked = s.Progress().Level
	}
	level, err := trust.ParseLevel(asked)
	if err != nil || level < trust.L2 && cmd.Flag("level").Value.String() == "" {
		level = trust.L2
	}
	var done, total atomic.Int64
	bar := progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State {
		return progress.State{Done: done.Load(), Total: total.Load()}
	})
	report, err := s.Check(cmd.Context(), level, func(n, of int) {
		done.Store(int64(n))
		total.Store(int64(of))
	})
	bar.Close()
	if err == nil && repair && level >= trust.L4 { // marks may have been lost with what was damaged
		err = s.markAgain(report.reasons())
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", data, err)
	}
	report.Repaired = repaired
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = report.print(cmd.OutOrStdout(), s)
	}
	if err == nil && !report.Clean() {
		err = fmt.Errorf("the store in %s is not clean: %s", data, report.advice())
	}
	return err
}

// reasons are the marks, by ledger.
func (r CheckReport) reasons() map[uint32]string {
	m := map[uint32]string{}
	for _, one := range r.Marked {
		m[one.Index] = one.Reason
	}
	return m
}

// advice says what to do about a store that is not clean.
func (r CheckReport) advice() string {
	failures := len(r.Failed) + r.More
	if marked := r.Marks.Len(); marked == failures {
		return fmt.Sprintf("%d ledgers have their hashes and do not verify at L4: no other server has them otherwise", marked)
	}
	return fmt.Sprintf("%d failures%s", failures, repairHint)
}

// print says a report to people.
func (r CheckReport) print(w io.Writer, s *Store) error {
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
		r.Ledgers, s.Stored(), r.Transactions, r.Links, r.Signatures, len(r.Failed)+r.More)
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

// EvidenceCommand returns the command "evidence".
func EvidenceCommand() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "evidence [NUMBER]",
		Short: "List the wrong answers that servers gave, or show one",
		Long: `Evidence lists the wrong answers that are kept in a data folder, the newest last. With a number it prints that
answer as JSON, as a server would send it; verify says again what is wrong with it. Ledgers that are marked, since they
have their hashes and do not verify at L4, are no wrong answers; they are listed after those.`,
		Example: `  ledgersync evidence --data history
  ledgersync evidence 17 --data history | ledgersync verify - --level L1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return daemon.Usage(fmt.Errorf("evidence shows one answer at a time; leave %s away", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s, err := OpenFolder(data, Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() {
				if e := s.Close(); err == nil {
					err = e
				}
			}()
			if len(args) == 1 {
				return s.show(cmd.OutOrStdout(), args[0])
			}
			return s.list(cmd.OutOrStdout(), asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", DefaultFolder, "the data folder `DIR`")
	flags.BoolVar(&asJSON, "json", false, "list one JSON object a line")
	return cmd
}

func (s *Store) show(w io.Writer, number string) error {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return daemon.Usage(fmt.Errorf("%q is not the number of an answer; ledgersync evidence lists them", number))
	}
	answer, err := s.Answer(n)
	if errors.Is(err, ErrMissing) {
		return daemon.Usage(fmt.Errorf("there is no wrong answer %d; ledgersync evidence lists them", n))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(answer, '\n'))
	return err
}

func (s *Store) list(w io.Writer, asJSON bool) error {
	wrong := s.Wrong()
	marks, err := s.Marks(Everything)
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(w)
		for _, one := range wrong {
			if err := e.Encode(one); err != nil {
				return err
			}
		}
		for _, one := range marks.Marked {
			if err := e.Encode(map[string]any{"marked": true, "ledger_index": one.Index, "reason": one.Reason}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(wrong) == 0 {
		_, err := fmt.Fprint(w, "no wrong answers are kept\n"+marks.Summary())
		return err
	}
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "number\ttime\tledger\tserver\tbytes\treason")
	for _, e := range wrong {
		fmt.Fprintf(t, "%d\t%s\t%d\t%s\t%d\t%s\n", e.Sequence, e.Time.UTC().Format(time.DateTime), e.Index, e.Server, e.Size, e.Reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	text.WriteString(marks.Summary())
	_, err = text.WriteTo(w)
	return err
}
