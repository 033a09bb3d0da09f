package main

import (
	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/services/chain"
)

// exportCommand writes the blocks to a file.
func exportCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "export BLOCKS.rlp",
		Short: "Write the blocks to a file",
		Long: `Export writes the blocks from block 1 on as geth export does: in RLP, one after the other, compressed with gzip where
the file's name ends in .gz. The file is complete or absent; - is stdout. The service must be stopped.`,
		Example: "  chaind export --data chain copy.rlp",
		Args:    command.Arguments(1, 1, "export takes one argument, the file to write: chaind export --data chain copy.rlp"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return chain.Export(cmd.Context(), data, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&data, "data", chain.DefaultFolder, "the data folder `DIR`")
	return cmd
}
