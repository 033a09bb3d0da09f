package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/orders/auth"
	"dyno/services/orders/order"

	"github.com/spf13/cobra"
)

// feed says which rows are wanted.
type feed struct {
	rows, accounts, count int
	zipf                  float64
	seed                  uint64
	file, format          string
	ttl                   time.Duration
}

// maxRows bounds what a load generator has to hold: rows take some 300 bytes. The lab takes as
// many.
const maxRows = 1_000_000

// feedCommand prints what a load generator needs to ask for orders.
func feedCommand() *cobra.Command {
	var f feed
	cmd := &cobra.Command{
		Use:   "feed --rows N --jwt-keys FILE",
		Short: "Print uids and tokens for a load generator",
		Long: `Feed prints lines of uid, account and token: uids drawn from 1 to N, as many rows as ordersd seed made, each with
a token of the account that owns it. The same seed draws the same uids. The file of keys is made, with a new key, if it
is missing, so that it can come before the service.`,
		Example: `  ordersd seed --rows 100000
  ordersd feed --rows 100000 --jwt-keys jwks.json > feed.csv`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return daemon.Usage(err)
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
			if err := f.print(out, time.Now()); err != nil {
				return err
			}
			return out.Flush()
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.rows, "rows", 0, "orders there are, with uids from 1")
	flags.IntVar(&f.accounts, "accounts", 1000, "accounts that own them in turn: A1, A2, ...")
	flags.IntVar(&f.count, "count", 10_000, "lines to print")
	flags.Float64Var(&f.zipf, "zipf", 0, "how skewed: the exponent of Zipf's law, above 1; low uids come often (0: all alike)")
	flags.Uint64Var(&f.seed, "seed", 1, "of the draw")
	flags.StringVar(&f.file, "jwt-keys", "", "the JWKS file to sign with")
	flags.DurationVar(&f.ttl, "ttl", 24*time.Hour, "how long the tokens live")
	flags.StringVar(&f.format, "format", "csv", "csv or ndjson")
	return cmd
}

func (f *feed) check() error {
	switch {
	case f.rows < 1:
		return errors.New("--rows is missing: how many orders there are")
	case f.accounts < 1:
		return fmt.Errorf("--accounts %d is not 1 or more", f.accounts)
	case f.count < 1 || f.count > maxRows:
		return fmt.Errorf("--count %d is not between 1 and %d", f.count, maxRows)
	case f.zipf != 0 && (f.zipf <= 1 || f.zipf > 100): // NaN fails below
		return fmt.Errorf("--zipf %v is neither 0 nor above 1, up to 100", f.zipf)
	case f.zipf != f.zipf:
		return errors.New("--zipf is not a number")
	case f.file == "":
		return errors.New("--jwt-keys is missing: the file of keys that the service has")
	case f.format != "csv" && f.format != "ndjson":
		return fmt.Errorf("--format %q is neither csv nor ndjson", f.format)
	}
	_, err := expiry(time.Now(), f.ttl)
	return err
}

// print writes the rows. Nothing of them has to be quoted: an account and a token have no commas or
// quotes.
func (f *feed) print(out *bufio.Writer, now time.Time) error {
	if err := auth.Create(f.file); err != nil {
		return err
	}
	issuer, err := auth.OpenIssuer(f.file, "")
	if err != nil {
		return err
	}
	layout := "%d,%s,%s\n"
	if f.format == "ndjson" {
		layout = `{"uid":%d,"account":"%s","token":"%s"}` + "\n"
	} else {
		fmt.Fprintln(out, "uid,account,token")
	}
	draw := f.draw()
	tokens := map[string]string{} // by account
	for range f.count {
		uid := draw()
		account := order.SeedAccount(int64(uid), f.accounts)
		token, ok := tokens[account]
		if !ok {
			if token, err = issuer.Issue(auth.Claims{Account: account, IssuedAt: now, Expiry: now.Add(f.ttl)}); err != nil {
				return err
			}
			tokens[account] = token
		}
		if _, err := fmt.Fprintf(out, layout, uid, account, token); err != nil {
			return fmt.Errorf("writing the rows: %w", err)
		}
	}
	return nil
}

// draw returns what draws uids.
func (f *feed) draw() func() int {
	source := rand.New(rand.NewPCG(f.seed, 0))
	if f.zipf == 0 {
		return func() int { return 1 + source.IntN(f.rows) }
	}
	zipf := rand.NewZipf(source, f.zipf, 1, uint64(f.rows-1))
	return func() int { return 1 + int(zipf.Uint64()) }
}
