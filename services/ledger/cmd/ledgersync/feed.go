package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/output"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl"
)

// maxRows bounds what a load generator has to hold, which is as many as the lab takes.
const maxRows = 1_000_000

// feedCommand prints what a load generator needs to ask for stored history.
func feedCommand() *cobra.Command {
	var s chain.Spec
	var count int
	cmd := &cobra.Command{
		Use:   "feed",
		Short: "Print ledgers, transactions and accounts of the simulator's chain for a load generator",
		Long: `Feed prints lines of CSV: ledger, hash, transaction, account. Each is a ledger drawn from the chain that ledgersync sim
serves with the same flags, its hash, one of its transactions, and an account that this transaction changed. The same flags
draw the same lines.`,
		Example: `  ledgersync sim --listen 127.0.0.1:5005 --ledgers 1000
  ledgersync feed --ledgers 1000 --count 20000 > feed.csv`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkChain(&s), inBounds(bound{"count", int64(count), 1, maxRows})); err != nil {
				return daemon.Usage(err)
			}
			if s.Transactions < 0 {
				return daemon.Usage(errors.New("--transactions 0: a line has a transaction; give 1 or more"))
			}
			return output.To("-", cmd.OutOrStdout(), func(w io.Writer) error { return feed(cmd.Context(), w, s, count) })
		},
	}
	declareChain(cmd.Flags(), &s)
	cmd.Flags().IntVar(&count, "count", 10_000, "lines to print")
	return cmd
}

// feed makes the chain and prints count lines of it.
func feed(ctx context.Context, out io.Writer, s chain.Spec, count int) (err error) {
	c, err := chain.New(s)
	if err != nil {
		return daemon.Usage(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Made(ctx); err != nil {
		return err
	}
	// All lines of a ledger are made when it is read; they are printed in the order of the draw.
	draw := rand.New(rand.NewPCG(s.Seed, 0))
	lines, of := make([]string, count), map[uint32][]int{} // ledger -> its lines
	for i := range lines {
		index := s.First + draw.Uint32N(uint32(s.Ledgers))
		of[index] = append(of[index], i)
	}
	for index := s.First; index < s.First+uint32(s.Ledgers); index++ {
		if len(of[index]) == 0 {
			continue
		}
		l, err := c.Ledger(ctx, index)
		if err != nil {
			return err
		}
		for _, i := range of[index] {
			tx := l.Transactions[draw.IntN(len(l.Transactions))]
			var account xrpl.AccountID
			if err := xrpl.Accounts(tx.Meta, func(id xrpl.AccountID) { account = id }); err != nil {
				return fmt.Errorf("ledger %d: %w", index, err)
			}
			lines[i] = fmt.Sprintf("%d,%v,%v,%v\n", index, l.Hash, xrpl.TransactionID(tx.Blob), account)
		}
	}
	if _, err := io.WriteString(out, "ledger,hash,transaction,account\n"); err != nil {
		return fmt.Errorf("writing the lines: %w", err)
	}
	for _, line := range lines {
		if _, err := io.WriteString(out, line); err != nil {
			return fmt.Errorf("writing the lines: %w", err)
		}
	}
	return nil
}
