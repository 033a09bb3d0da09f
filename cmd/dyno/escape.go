package main

import (
	"fmt"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/escape"
	"dyno/lab/record"
	"dyno/lab/record/folder"

	"github.com/spf13/cobra"
)

// listing returns where a command lists its findings.
type listing func(*cobra.Command) escape.Terminal

func newEscape(terminal listing) *cobra.Command {
	var (
		asJSON  bool
		variant string
		top     int
	)
	cmd := &cobra.Command{
		Use:   "escape [PACKAGES...] RUN",
		Short: "List the escapes with their cost per request",
		Long: `Escape joins the compiler's messages about escapes (go build -gcflags=-m=2) with the allocations of a run, and
lists the places that allocate most per request: what escapes there and why, or which function outside the
packages allocates on behalf of that line.

RUN is the folder of an experiment in which an allocation profile was taken, as dyno diagnose writes it.
PACKAGES are patterns of the go command, seen from the working directory (default ./...); they are compiled
as they are now, so check out the revision that ran. GOFLAGS applies (-tags, for instance).`,
		Example: `  dyno escape ./... dyno-out/notify-20260102-150405
  dyno escape --top 5 --variant tuned ./services/... dyno-out/notify-20260102-150405
  dyno escape --json dyno-out/notify-20260102-150405 | jq '.sites[0]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return usage.Errorf("--top takes 1 or more, not %d", top)
			}
			patterns, run, err := profiledRun(args, variant)
			if err != nil {
				return err
			}
			bytes, err := run.Profile(record.ProfileHeap, record.ValueAllocBytes)
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			objects, err := run.Profile(record.ProfileHeap, record.ValueAllocObjects)
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			messages, err := escape.Compile(cmd.Context(), "", patterns...)
			if err != nil {
				return usage.Of(err)
			}
			joined := escape.Join(messages, bytes, objects)
			if run.Invalid != "" {
				joined.Warnings = append(joined.Warnings, "the run does not count: "+run.Invalid)
			}
			if asJSON {
				return escape.WriteJSON(cmd.OutOrStdout(), joined, run, top)
			}
			terminal(cmd).Escapes(joined, run, top)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.StringVar(&variant, "variant", "", "the variant whose profile is read (default: the last one that has one)")
	f.IntVar(&top, "top", 30, "maximum number of places in the list")
	return cmd
}

// howToProfile says how to get an allocation profile.
const howToProfile = "`dyno diagnose SCENARIO|URL` takes one and prints the folder"

// profiledRun finds a run in the folder that the last argument names; the arguments before it are
// package patterns.
func profiledRun(args []string, variant string) ([]string, *record.Run, error) {
	if len(args) == 0 {
		return nil, nil, usage.Errorf("escape needs the folder of a run with an allocation profile; %s", howToProfile)
	}
	patterns, dir := args[:len(args)-1], args[len(args)-1]
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	exp, err := folder.Open(dir)
	if err != nil {
		return nil, nil, usage.Errorf("the last argument must be the folder of a run with an allocation profile: %w; %s", err, howToProfile)
	}
	have, found := escape.LastProfiled(exp.Runs, variant)
	switch {
	case len(have) == 0:
		return nil, nil, fmt.Errorf("no run in %s has profiles; %s", dir, howToProfile)
	case found == nil:
		return nil, nil, usage.Errorf("no variant %q was profiled in %s; profiled variants are %s", variant, dir, strings.Join(have, ", "))
	}
	return patterns, found, nil
}
