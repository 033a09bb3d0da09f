package main

import (
	"errors"
	"fmt"
	"os"

	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented scenario for your own service",
		Long:  "Init writes a scenario with every field explained. FILE is dyno.yaml unless given; - writes to stdout. An existing file is never replaced.",
		Example: `  dyno init                 writes dyno.yaml
  dyno init - | less        just look`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "dyno.yaml"
			if len(args) == 1 {
				name = args[0]
			}
			if name == "-" {
				_, err := cmd.OutOrStdout().Write(scenario.Starter())
				return err
			}
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, os.ErrExist) {
				return fmt.Errorf("%s exists already; name another file", name)
			}
			if err != nil {
				return err
			}
			_, err = f.Write(scenario.Starter())
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: edit it, then: dyno run %s\n", name, name)
			return nil
		},
	}
}
