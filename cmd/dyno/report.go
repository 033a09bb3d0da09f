package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/report"
	"dyno/lab/report/text"
	"dyno/lab/report/timeseries"
	"dyno/lab/report/viewers"

	"github.com/spf13/cobra"
)

func newReport() *cobra.Command {
	var asJSON, asMarkdown, explain bool
	var export, otlp string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Print and render a finished run again",
		Long: `Report reads the folder that a run wrote, analyses it again, writes report.html and report.md into it,
and prints the result. It needs only the folder, which may come from another machine.

--export prints the run for another program instead: its profiles for Speedscope, or what happened when, for
Perfetto (ui.perfetto.dev). --push-otlp also sends its series, dyno_..., to Prometheus or another receiver,
where they are seen with the service's own.

It exits 4 when the run is invalid, 1 when a signal or an error ended it early, else 0: only the command that ran
judges SLO and gate.`,
		Example: `  dyno report dyno-out/notify-20260102-150405
  dyno report --markdown DIR >> "$GITHUB_STEP_SUMMARY"
  dyno report DIR --export speedscope > profiles.speedscope.json
  dyno report DIR --push-otlp http://127.0.0.1:9090/api/v1/otlp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := viewers.Formats[export]
			if export != "" && write == nil {
				return usage.Errorf("--export takes perfetto or speedscope, not %q", export)
			}
			exp, err := request.Record(args[0])
			if err != nil {
				return err
			}
			if write != nil {
				return write(cmd.OutOrStdout(), exp)
			}
			rep := report.Build(exp)
			if otlp != "" {
				all := timeseries.Of(exp, rep)
				if err := timeseries.OTLP(cmd.Context(), otlp, all); err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "sent %d series\n", len(all))
			}
			unwritten := writeReports(rep, args[0])
			if asMarkdown {
				err = text.Markdown(cmd.OutOrStdout(), rep)
			} else {
				err = (&common{json: asJSON, explain: explain, cmd: cmd}).print(rep)
			}
			err = cmp.Or(err, unwritten)
			if ended := outcome(rep.Outcome); err == nil && ended != nil {
				return &exit{code: ended.code} // the report has printed the reason
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&explain, "explain", false, "print all of a diagnosis, and not only the answer")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, for a pull request")
	cmd.Flags().StringVar(&export, "export", "", "print the run as a file for `PROGRAM`: perfetto or speedscope")
	cmd.Flags().StringVar(&otlp, "push-otlp", "", "send the run's series to `URL` by OTLP over HTTP")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "export")
	return cmd
}

// writeFile renders a report into a file that appears only when it is complete. If two commands
// write it concurrently, each has its own temporary file, and the last one to finish determines
// the content.
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
