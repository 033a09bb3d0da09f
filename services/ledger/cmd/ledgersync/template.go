package main

import (
	"embed"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/refusal"
)

// templates are configuration files to begin with: each a case that ledgersync is used for,
// complete and explained.
//
//go:embed templates/*.yaml
var templates embed.FS

// templateNames are in order.
func templateNames() (names []string) {
	entries, _ := templates.ReadDir("templates") // of an embedded folder that is there
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// templateCommand prints a template.
func templateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "template [NAME]",
		Short: "Print a configuration file to begin with",
		Long: `Template prints a configuration file for --config, or, without a name, which ones there are:

  public   a range of the main network from public servers
  audit    the same down to the signatures, from a hash that you trust
  own      all that a server of your own has, served to others while it keeps up with the tip`,
		Example: `  ledgersync template public > public.yaml
  ledgersync sync --config public.yaml`,
		ValidArgs: templateNames(),
		Args:      command.Arguments(0, 1, "template takes one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := []byte(strings.Join(templateNames(), "\n") + "\n")
			if len(args) == 1 {
				var err error
				if text, err = templates.ReadFile(path.Join("templates", args[0]+".yaml")); err != nil {
					return daemon.Usage(refusal.Unknown("template", args[0], templateNames()...))
				}
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
