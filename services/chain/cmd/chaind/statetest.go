package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/services/chain/statetest"
)

// statetestCommand runs state tests.
func statetestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "statetest FILE...",
		Short: "Run state tests of Ethereum's public sets",
		Long: `Statetest runs files in the format of the state tests of ethereum/tests and execution-spec-tests: every variant of the
transaction on every fork that the file names. It prints the failures and a count, or with --json an array of all results
({"file","name","fork","index","pass","stateRoot","error"}), and exits with 1 when a test fails or a file is none.`,
		Example: "  chaind statetest --json GeneralStateTests/stExample/add11.json",
		Args:    command.Arguments(1, 1<<30, "statetest takes the files as arguments: chaind statetest add11.json"),
		RunE:    func(cmd *cobra.Command, files []string) error { return statetests(cmd, files, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all results as one JSON array")
	return cmd
}

func statetests(cmd *cobra.Command, files []string, asJSON bool) error {
	out := cmd.OutOrStdout()
	results, failed := 0, 0
	print := func(r statetest.Result) error {
		results++
		if !r.Pass {
			failed++
		}
		if !asJSON {
			if !r.Pass {
				fmt.Fprintf(out, "FAIL %s %s %s %d: %s\n", r.File, r.Name, r.Fork, r.Index, r.Error)
			}
			return nil
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n%s", map[bool]string{true: "[", false: ","}[results == 1], line)
		return err
	}
	var wrong error
	for _, file := range files {
		err := statetest.File(cmd.Context(), file, print)
		if cmd.Context().Err() != nil {
			return err
		}
		wrong = errors.Join(wrong, err)
	}
	var err error
	switch {
	case !asJSON:
		_, err = fmt.Fprintf(out, "%d passed, %d failed\n", results-failed, failed)
	case results == 0:
		_, err = fmt.Fprintln(out, "[]")
	default:
		_, err = fmt.Fprintln(out, "\n]")
	}
	if failed > 0 {
		wrong = errors.Join(wrong, fmt.Errorf("%d of %d tests failed", failed, results))
	}
	return errors.Join(err, wrong)
}
