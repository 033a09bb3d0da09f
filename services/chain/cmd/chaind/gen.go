package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/output"
	"dyno/services/chain/gen"
)

// genCommand makes a load.
func genCommand() *cobra.Command {
	var c gen.Config
	var genesis, out string
	cmd := &cobra.Command{
		Use:   "gen --accounts N --per N",
		Short: "Make a genesis and signed transfers for a load",
		Long: `Gen makes accounts, a genesis that gives each of them 10,000 ether, and signed transfers between them. Neighbouring
transfers are of different accounts, and those of an account in the order of their nonces. The same flags make the same
bytes. The formats, each for a line: ndjson, a JSON-RPC body with eth_sendRawTransaction, or with --array an array of them,
for the corpus of a scenario; rows, {"raw":"0x.."}, for its feeder. The keys follow from the seed and protect nothing. With
--development the accounts are the ten of the development chain, which also anvil and Hardhat have, and no genesis is written.`,
		Example: `  chaind gen --accounts 1000 --per 100 --seed 1 --format ndjson > transfers.ndjson
  chaind serve --data chain --genesis genesis.json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := gen.New(c)
			if err != nil {
				return daemon.Usage(err)
			}
			if !c.Development {
				if err := writeGenesis(genesis, append(g.Genesis().JSON(), '\n')); err != nil {
					return err
				}
			}
			return output.To(out, cmd.OutOrStdout(), func(w io.Writer) error { return g.Write(cmd.Context(), w) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.Accounts, "accounts", 1000, "the `NUMBER` of accounts")
	flags.IntVar(&c.Per, "per", 100, "the `NUMBER` of transfers of each account")
	flags.Uint64Var(&c.Seed, "seed", 1, "the `NUMBER` from which the accounts' keys follow")
	flags.IntVar(&c.Array, "array", 0, "the `NUMBER` of calls in each body, which is an array then; 0: single calls")
	flags.StringVar((*string)(&c.Format), "format", string(gen.Bodies), "the `FORMAT`: ndjson or rows")
	flags.StringVar(&genesis, "genesis", "genesis.json", "the `FILE` to which the genesis is written")
	flags.StringVar(&out, "out", "-", "the `FILE` to which the transfers are written; -: stdout")
	flags.Uint64Var(&c.GasLimit, "gas-limit", 1_000_000_000, "the `GAS` of a block; with blocks less than half full, the base fee does not rise")
	flags.Uint64Var(&c.Rules.RootEvery, "root-every", 1, "the `NUMBER` of blocks from one state root to the next, a rule of the genesis")
	flags.BoolVar(&c.Development, "development", false, "transfers between the accounts of the development chain, which serve begins without a genesis")
	for _, other := range []string{"accounts", "seed", "genesis", "gas-limit", "root-every"} {
		cmd.MarkFlagsMutuallyExclusive("development", other)
	}
	return cmd
}

// writeGenesis writes a genesis, if the file does not have it already.
func writeGenesis(path string, text []byte) error {
	have, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(have, text):
		return nil
	case err == nil:
		return daemon.Usage(fmt.Errorf("--genesis: %s is there already, with another content; remove it or choose another name", path))
	case !errors.Is(err, fs.ErrNotExist):
		return daemon.Usage(fmt.Errorf("--genesis: %w", err))
	}
	return output.To(path, nil, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
