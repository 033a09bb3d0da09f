package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/folder"
)

// evidenceCommand shows wrong answers.
func evidenceCommand() *cobra.Command {
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
			s, err := folder.Open(data, store.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			if len(args) == 1 {
				return showEvidence(cmd.OutOrStdout(), s, args[0])
			}
			return listEvidence(cmd.OutOrStdout(), s, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", folder.Default, "the data folder `DIR`")
	flags.BoolVar(&asJSON, "json", false, "list one JSON object a line")
	return cmd
}

func showEvidence(w io.Writer, s *store.Store, number string) error {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return daemon.Usage(fmt.Errorf("%q is not the number of an answer; ledgersync evidence lists them", number))
	}
	answer, err := s.Evidence().Answer(n)
	if errors.Is(err, store.ErrNotKept) {
		return daemon.Usage(fmt.Errorf("there is no wrong answer %d; ledgersync evidence lists them", n))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(answer, '\n'))
	return err
}

func listEvidence(w io.Writer, s *store.Store, asJSON bool) error {
	wrong := s.Evidence().All()
	marks, err := s.Marks(store.Everything)
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
