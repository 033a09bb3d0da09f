package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/seconds"
	"dyno/services/arena/auth"
)

// maxTTL bounds the lifetime of a token: it can only be revoked by removing its key.
const maxTTL = 10 * 365 * 24 * time.Hour

// tokenCommand makes a token.
func tokenCommand() *cobra.Command {
	var file, name string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "token --auth-key FILE --name NAME",
		Short: "Make a token with which a player joins",
		Long: `Token prints a JSON Web Token, and nothing else, on stdout. It is signed with the key in the file, which is made if it
is missing; every user who can read that file can make tokens for every name.`,
		Example: `  arenad token --auth-key arena.key --name ada
  arenad token --auth-key arena.key --name ada --ttl 720h`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case file == "":
				return daemon.Usage(errors.New("--auth-key is missing: the file of the key that the server has"))
			case name == "":
				return daemon.Usage(errors.New("--name is missing: the player's"))
			case ttl < time.Second || ttl > maxTTL:
				return daemon.Usage(fmt.Errorf("--ttl %v is not between 1s and %v", ttl, maxTTL))
			}
			if err := auth.CheckName(name); err != nil {
				return daemon.Usage(fmt.Errorf("--name: %w", err))
			}
			key, err := auth.Open(file)
			if err != nil {
				return daemon.Usage(fmt.Errorf("--auth-key: %w", err))
			}
			token, err := key.Issue(auth.Claims{Name: name, Exp: seconds.Date(time.Now().Add(ttl).Unix())})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "auth-key", "", "`FILE` of the key")
	flags.StringVar(&name, "name", "", "the player's `NAME`, of at most 32 bytes")
	flags.DurationVar(&ttl, "ttl", 24*time.Hour, "how long the token lives")
	return cmd
}
