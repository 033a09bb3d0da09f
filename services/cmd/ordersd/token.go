package main

import (
	"fmt"
	"path/filepath"
	"time"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/orders/auth"
	"dyno/services/orders/order"

	"github.com/spf13/cobra"
)

// maxTTL bounds the lifetime of a token made here: a token can only be revoked by removing its key.
const maxTTL = 10 * 365 * 24 * time.Hour

// tokenCommand makes a token.
func tokenCommand() *cobra.Command {
	var (
		claims         auth.Claims
		ttl            time.Duration
		kid, file, dir string
	)
	cmd := &cobra.Command{
		Use:   "token --sub ACCOUNT",
		Short: "Make a token for an account",
		Long: `Token prints a JSON Web Token for an account, and nothing else, on stdout. It is signed with a key of the JWKS
file; every user who can read that file can make tokens for every account. Without --jwt-keys that is the file ` + auth.KeysFile + `
in the data folder, which is made, with a new key, if it is missing.`,
		Example: `  ordersd token --sub A1
  curl -H "Authorization: Bearer $(ordersd token --sub A1)" 'http://127.0.0.1:8080/api/v1/order?uid=1'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			var err error
			if claims.Expiry, err = expiry(now, ttl); err != nil {
				return err
			}
			if !order.ValidAccount(claims.Account) {
				return daemon.Usage(fmt.Errorf("--sub %q is not an account: one has %s", claims.Account, order.AccountRule))
			}
			if file == "" {
				file = filepath.Join(dir, auth.KeysFile)
				if err := auth.Create(file); err != nil {
					return err
				}
			}
			claims.IssuedAt = now
			token, err := auth.Issue(file, kid, claims)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&claims.Account, "sub", "", "the account")
	flags.DurationVar(&ttl, "ttl", time.Hour, "how long the token lives")
	flags.StringVar(&kid, "kid", "", "the key's id (default: the first key that can sign)")
	flags.StringVar(&file, "jwt-keys", "", "the JWKS file")
	flags.StringVar(&dir, "data", "ordersd-data", "the data folder, where there is no --jwt-keys")
	flags.StringVar(&claims.Audience, "audience", "", "the claim aud")
	flags.StringVar(&claims.Issuer, "issuer", "", "the claim iss")
	cmd.MarkFlagsMutuallyExclusive("jwt-keys", "data")
	return cmd
}

func expiry(now time.Time, ttl time.Duration) (time.Time, error) {
	if ttl < time.Second || ttl > maxTTL {
		return time.Time{}, daemon.Usage(fmt.Errorf("--ttl %v is not between 1s and %v", ttl, maxTTL))
	}
	return now.Add(ttl), nil
}
