package code

import (
	"slices"

	"dyno/cmd/dyno/usage"
	"dyno/lab/source/layout"
	"dyno/lab/source/listing"

	"github.com/spf13/cobra"
)

// NewLayout returns the command that lists structs.
func NewLayout(terminal Terminal) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "layout PACKAGES...",
		Short: "List struct fields that share a cache line, and memory that padding wastes",
		Long: `Layout reads source and lists struct fields on one cache line that different functions write
(locks, atomics, counters), array elements that share a line like that, fields that are only read beside one that is written,
and structs that would be smaller in another order. GOOS and GOARCH select the machine; generated files and
tests are left out.

It sees neither how often nor from how many cores a field is written: its findings are candidates. Change one, and
check with dyno compare whether it made a difference.`,
		Example: `  dyno layout ./...
  dyno layout --all ./parts/wheel
  GOARCH=386 dyno layout ./...
  dyno layout --json ./... | jq '.sharing[] | select(.kind == "neighbours")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := layout.Examine(cmd.Context(), "", args...)
			if err != nil {
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				return usage.Of(err)
			}
			found := len(r.Padding)
			r.Padding = slices.DeleteFunc(r.Padding, func(pad layout.Padding) bool { return !all && !pad.Worthwhile() })
			if asJSON {
				return listing.LayoutJSON(cmd.OutOrStdout(), r)
			}
			terminal(cmd).Layout(r, found-len(r.Padding))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&all, "all", false, "list every struct that padding makes larger, not only those that lose a word and a tenth")
	return cmd
}
