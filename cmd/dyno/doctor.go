package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"dyno/lab/probe/host"
	"dyno/lab/report/screen"

	"github.com/spf13/cobra"
)

// health is the JSON of dyno doctor.
type health struct {
	Schema  string       `json:"schema"`
	Fit     bool         `json:"fit"` // false: figures measured now would mislead
	Summary string       `json:"summary"`
	Checks  []host.Check `json:"checks"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Is this machine fit to measure on?",
		Long: `Doctor checks everything that makes figures vary: cores and their siblings, neighbours, limits, kernel settings,
and how late a thread wakes. It changes nothing. It exits 4 if figures measured now would mislead.`,
		Example: `  dyno doctor
  dyno doctor --json | jq '.checks[] | select(.status != "ok")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := host.Examine(cmd.Context())
			bad := 0
			for _, c := range checks {
				if c.Status == host.Bad {
					bad++
				}
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				if err := enc.Encode(health{"dyno.doctor/1", bad == 0, host.Summary(checks), checks}); err != nil {
					return err
				}
			} else {
				printChecks(cmd, checks)
			}
			if bad > 0 {
				return &exit{exitInvalid, fmt.Errorf("%d of %d checks failed: figures measured now would mislead", bad, len(checks))}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printChecks prints a summary and a line per check; below each check that is not OK it prints
// what that means and how to fix it.
func printChecks(cmd *cobra.Command, checks []host.Check) {
	colour := map[host.Status]string{host.OK: "32", host.Warn: "33", host.Bad: "31"}
	style := styleOf(os.Stdout)
	fmt.Fprintln(cmd.OutOrStdout(), host.Summary(checks))
	for _, c := range checks {
		mark := fmt.Sprintf("%-4s", c.Status)
		if style.Color {
			mark = "\x1b[" + colour[c.Status] + "m" + mark + "\x1b[0m"
		}
		out := cmd.OutOrStdout()
		fmt.Fprint(screen.Below(out), mark)
		fmt.Fprintf(out, "  %-22s %s\n", c.Name, c.Value)
		if c.Status == host.OK {
			continue
		}
		for _, text := range []string{c.Means, c.Fix} {
			if text != "" {
				fmt.Fprintf(out, "%s%s\n", strings.Repeat(" ", 29), text)
			}
		}
	}
}
