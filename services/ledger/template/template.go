// Package template is configuration files to begin with: each a case that ledgersync is used for, complete and explained. It
// is not for settings one by one, which --help lists.
package template

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
)

//go:embed *.yaml
var files embed.FS

// Names are the templates, in order.
func Names() []string {
	entries, _ := files.ReadDir(".") // of an embedded folder that is there
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Read is a template's text.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no template %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

// Command returns the command "template".
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "template [NAME]",
		Short: "Print a configuration file to begin with",
		Long: `Template prints a configuration file for --config, or, without a name, which ones there are:

  public   a range of the main network from public servers
  audit    the same down to the signatures, from a hash that you trust
  own      all that a server of your own has, served to others while it keeps up with the tip`,
		Example: `  ledgersync template public > public.yaml
  ledgersync sync --config public.yaml`,
		ValidArgs: Names(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return daemon.Usage(errors.New("template takes one name"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := []byte(strings.Join(Names(), "\n") + "\n")
			if len(args) == 1 {
				var err error
				if text, err = Read(args[0]); err != nil {
					return daemon.Usage(err)
				}
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
