package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/arena"
	"dyno/services/arena/delta"
	"dyno/services/arena/wire"
)

// decodeCommand prints the states in what a client received.
func decodeCommand() *cobra.Command {
	var subprotocol string
	cmd := &cobra.Command{
		Use:   "decode --subprotocol NAME",
		Short: "Print the states in what a client received, as lines of JSON",
		Long: `Decode reads a client's messages from stdin, each behind its length (4 bytes, the lowest first), and prints a line of JSON
for each state: {"tick","entities":[{"id","x","y","dir","hp","score"}]}. Other messages have no line.`,
		Example: "  arenad decode --subprotocol " + wire.Bits + " < messages",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines := map[string]func(io.Reader, io.Writer) error{wire.Bits: delta.Lines, wire.Proto: delta.SnapshotLines}[subprotocol]
			if lines == nil {
				return daemon.Usage(fmt.Errorf("--subprotocol %q is neither %s nor %s", subprotocol, wire.Bits, wire.Proto))
			}
			return arena.Service().Interruptible(cmd.Context(), "decode", os.Stdin, cmd.ErrOrStderr(), func(_ context.Context, in io.Reader) error {
				out := bufio.NewWriter(cmd.OutOrStdout())
				return errors.Join(lines(bufio.NewReader(in), out), out.Flush())
			})
		},
	}
	cmd.Flags().StringVar(&subprotocol, "subprotocol", wire.Bits, wire.Bits+" or "+wire.Proto)
	return cmd
}
