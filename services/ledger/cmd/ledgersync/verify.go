package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/parts/refusal"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/pack"

	"github.com/spf13/cobra"
)

// verifyCommand verifies files.
func verifyCommand() *cobra.Command {
	var level string
	var asJSON bool
	var o trust.Options
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify the ledgers in a file",
		Long: `Verify reads answers to the method ledger with binary: true, one JSON object a line, and proves each ledger as far as
--level says. ` + trust.Explain() + `.
A file has no anchor and no validations: at L2 and above, ledgers whose neighbours are in the file as well are linked,
and L3 proves what L2 does. When two neighbours contradict each other, the one fails that those above are not built on,
and both if that cannot be decided. That takes some 200 bytes of memory for each ledger.
It exits with 1 when a ledger fails, or when there is none.`,
		Example: `  ledgersync verify ledgers.jsonl --level L4
  ledgersync export --data ledgersync-data --format ndjson | ledgersync verify - --json`,
		Args: command.Arguments(1, 1, "verify wants one FILE, as in ledgersync verify ledgers.jsonl; - is stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Level, err = trust.ParseLevel(level); err != nil {
				return daemon.Usage(fmt.Errorf("--level: %w", err))
			}
			if _, err := refusal.Pick("checker", signing.Checkers(), o.Signatures); err != nil && o.Signatures != "" {
				return daemon.Usage(fmt.Errorf("--signatures: %w", err))
			}
			if o.Workers < 0 {
				return daemon.Usage(fmt.Errorf("--workers %d: say 1 or more, or nothing for one a core", o.Workers))
			}
			return verify(cmd, args[0], o, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&level, "level", trust.L4.String(), "how much to prove, `LEVEL` L0 to L4")
	flags.BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	flags.StringVar(&o.Signatures, "signatures", "", "`NAME` of what checks signatures: pure or libsecp256k1 (default: the fastest there is)")
	flags.IntVar(&o.Workers, "workers", 0, "ledgers to verify at a time (default: one a core)")
	return cmd
}

func verify(cmd *cobra.Command, file string, o trust.Options, asJSON bool) error {
	report, err := verifyNamed(cmd.Context(), file, o, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = printVerified(cmd.OutOrStdout(), report, o.Level)
	}
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// verifyNamed verifies a file, or stdin for "-", and shows how far it is where a person is
// watching.
func verifyNamed(ctx context.Context, name string, o trust.Options, stdin io.Reader, stderr io.Writer) (trust.Report, error) {
	in, size := stdin, int64(0) // unknown
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return trust.Report{}, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return trust.Report{}, err
		}
		if info.IsDir() {
			return trust.Report{}, daemon.Usage(fmt.Errorf("%s is a folder; name a file", name))
		}
		in, size = f, info.Size()
	}
	in, err := noPack(name, in)
	if err != nil {
		return trust.Report{}, err
	}
	counted := &counter{Reader: in}
	bar := progress.Show(stderr, "MB", func() progress.State {
		return progress.State{Done: megabytes(counted.read.Load()), Total: megabytes(size)}
	})
	report, err := trust.VerifyFile(ctx, counted, o)
	bar.Close()
	if err != nil {
		return report, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}

// noPack sees that a file is no pack, and returns what is still the whole of it.
func noPack(name string, in io.Reader) (io.Reader, error) {
	begin := make([]byte, len(pack.Magic))
	n, err := io.ReadFull(in, begin)
	switch {
	case string(begin) == pack.Magic:
		return nil, daemon.Usage(fmt.Errorf("%s is a pack; ledgersync unpack proves it", name))
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF): // a short file may hold a line
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.MultiReader(bytes.NewReader(begin[:n]), in), nil
}

// counter counts the bytes that were read.
type counter struct {
	io.Reader
	read atomic.Int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// megabytes converts bytes, rounded up: a small file is not shown as 0 MB.
func megabytes(bytes int64) int64 { return (bytes + 999_999) / 1_000_000 }

// printVerified writes the report for people.
func printVerified(w io.Writer, r trust.Report, level trust.Level) error {
	for _, f := range r.Failed {
		if _, err := fmt.Fprintf(w, "line %d, ledger %d: %s\n", f.Line, f.Index, f.Reason); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d ledgers verified at %v: %d transactions, %d signatures, %d links\n%s",
		r.Verified, r.Ledgers, level, r.Transactions, r.Signatures, r.Links, r.Summary())
	return err
}
