package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/chain"
	"dyno/services/chain/peers"
)

// keyCommand makes and shows node keys.
func keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make and show the key of a node",
		Example: `  chaind key new --node-key node.key
  chaind key show --node-key node.key`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.Usage(errors.New("key takes a command: chaind key new, or chaind key show"))
		},
	}
	cmd.AddCommand(
		keyCommandOf("new", "Make the key of a node",
			`New writes a new key (Ed25519, PKCS #8 in PEM) to a file that only its owner can read, and prints the node's id. A file
that exists is never overwritten.`,
			func(path string) (peers.ID, error) {
				key := peers.NewKey()
				return key.ID(), key.Write(path)
			}),
		keyCommandOf("show", "Show the id of a node",
			`Show prints the id of the node whose key is in a file: what other nodes know it by. The key itself is not shown.`,
			func(path string) (peers.ID, error) {
				key, err := chain.ReadKey(path)
				if err != nil {
					return peers.ID{}, err
				}
				return key.ID(), nil
			}))
	return cmd
}

// keyCommandOf is a command that prints the id of the key in a file.
func keyCommandOf(name, short, long string, id func(path string) (peers.ID, error)) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    long,
		Example: "  chaind key " + name + " --node-key node.key",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := id(path)
			if err != nil {
				return daemon.Usage(fmt.Errorf("--node-key: %w", err))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), id)
			return err
		},
	}
	cmd.Flags().StringVar(&path, "node-key", "node.key", "the `FILE` of the key")
	return cmd
}
