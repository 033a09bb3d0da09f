package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dyno/lab/record/folder"
	"dyno/lab/report"
	"dyno/lab/report/text"

	"github.com/spf13/cobra"
)

func newReport() *cobra.Command {
	var asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print and render a finished run again",
		Long: `Report reads the folder that a run wrote, analyses it again, writes report.html and report.md into it,
and prints the result. It needs only the folder, which may come from another machine.

It exits 4 when the run is invalid, 1 when a signal or an error ended it early, else 0: only the command that ran
judges SLO and gate.`,
		Example: `  dyno report dyno-out/notify-20260102-150405
  dyno report --markdown DIR >> "$GITHUB_STEP_SUMMARY"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			exp, err := folder.Open(args[0])
			if err != nil {
				return err
			}
			rep := report.Build(exp)
			if err := writeReports(rep, args[0]); err != nil {
				return err
			}
			if asMarkdown {
				err = text.Markdown(cmd.OutOrStdout(), rep)
			} else {
				err = (&common{json: asJSON, cmd: cmd}).print(rep)
			}
			if ended := outcome(rep.Outcome); err == nil && ended != nil {
				return &exit{code: ended.code} // the report has printed the reason
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a pull request")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

// writeFile renders into a file that appears only when it is complete. Two commands may write it
// concurrently: each has a temporary file of its own, and the last one to finish stays.
func writeFile[T any](path string, shown T, render func(io.Writer, T) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	tmp := f.Name()
	w := bufio.NewWriter(f)
	if err := errors.Join(render(w, shown), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return os.Rename(tmp, path)
}
