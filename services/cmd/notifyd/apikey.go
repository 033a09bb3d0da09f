package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/notify/apikey"
)

// apikeyCommand makes a key.
func apikeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apikey NAME",
		Short: "Make an API key and the line for --api-keys",
		Long: `Apikey makes a new random key. The line for the file that serve --api-keys reads goes to stdout, so that
it can be appended to the file; the key goes to stderr, this once: the file holds only its hash.
A running notifyd takes the new line over within a second.`,
		Example: `  (umask 077; notifyd apikey shop >> keys.txt)
  notifyd serve --api-keys keys.txt
  curl -H 'Authorization: Bearer notifyd_...' http://127.0.0.1:8080/v1/stats`,
		Args: command.Arguments(1, 1, "apikey takes one argument, the name of who will have the key: notifyd apikey shop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, line, err := apikey.Make(args[0])
			if err != nil {
				return daemon.Usage(err)
			}
			// The key is worth nothing when the line is lost, so the line comes first.
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
				return fmt.Errorf("writing the line for the file: %w", err)
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s\nThis key is shown once. Give it to %s; the file needs only the line on stdout.\n", key, args[0])
			return err
		},
	}
}
