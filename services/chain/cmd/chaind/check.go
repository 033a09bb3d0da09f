package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/services/chain"
)

// checkCommand proves again what is stored.
func checkCommand() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Prove again what is stored",
		Long: `Check reads all that is stored and proves it again: the checksums of all tables, each block by executing it again from
block 0, the receipts and indexes against what comes out, and the stored state node by node. Damage is named by file and
block, and the exit code is 1. Of a test chain, all calls are made again. The service must be stopped. Check needs room on the disk for another copy of the state.`,
		Example: "  chaind check --data chain --json",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return check(cmd, data, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", chain.DefaultFolder, "the data folder `DIR`")
	flags.BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	return cmd
}

func check(cmd *cobra.Command, data string, asJSON bool) error {
	r, err := chain.Check(cmd.Context(), data, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		err = json.NewEncoder(out).Encode(r)
	} else {
		for _, d := range r.Damage {
			where := d.File
			if d.Block != nil {
				where = fmt.Sprintf("%s, block %d", where, *d.Block)
			}
			fmt.Fprintf(out, "%s: %s\n", where, d.Error)
		}
		if r.More > 0 {
			fmt.Fprintf(out, "and %d more\n", r.More)
		}
		if r.Kind != "" {
			fmt.Fprintf(out, "%s: ", r.Kind)
		}
		_, err = fmt.Fprintf(out, "head %d, %d blocks with %d transactions executed again, state root %v, recomputed %v\n",
			r.Head, r.Blocks, r.Transactions, r.StateRoot, r.RecomputedRoot)
	}
	if err == nil && !r.OK {
		err = fmt.Errorf("the chain in %s is damaged: %d findings; import an exported copy of it into an empty folder", data, len(r.Damage)+r.More)
	}
	return err
}
