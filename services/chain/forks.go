package chain

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"dyno/services/chain/testchain"
)

// forkFlags are the flags that say what a test chain begins as, by anvil's names.
type forkFlags struct{ testchain.Fork }

func (f *forkFlags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.URL, "fork-url", "", "with --test, begin as a fork of the node at `URL` on this machine, with its chain id; a folder that is a fork stays what it is, and asks there; any other one to which calls were made is refused")
	set.StringVar(&f.Block, "fork-block-number", "", "`NUMBER` of the block that --fork-url begins behind; without it, the last one")
	set.Uint64Var(&f.ID, "chain-id", 0, "with --test, the `ID` of a new chain, or of the one in the folder; without it, that of the node of --fork-url, or 31337")
}

// check says what is wrong with the flags.
func (f *forkFlags) check(test bool, genesis string) error {
	_, err := strconv.ParseUint(f.Block, 0, 64)
	switch {
	case !test && f.Fork != testchain.Fork{}:
		return errors.New("--fork-url, --fork-block-number and --chain-id are for test chains: add --test")
	case f.ID > 0 && genesis != "":
		return errors.New("--chain-id and --genesis exclude each other: the genesis has the id")
	case f.Block != "" && (f.URL == "" || err != nil):
		return errors.New("--fork-block-number takes a number, and needs --fork-url")
	}
	return nil
}
