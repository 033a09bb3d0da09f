package authoring

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
)

// schemas are those of the commands' JSON, made from Go types; TestSchemas of cmd/dyno writes them.
//
//go:embed schemas/*.json
var schemas embed.FS

// ScenarioSchema is the name of the schema of scenario files.
const ScenarioSchema = "scenario"

// SchemaNames lists the schemas.
func SchemaNames() []string {
	names := []string{ScenarioSchema}
	entries, err := schemas.ReadDir("schemas")
	if err != nil {
		return names // they are embedded
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Schema returns a schema by its name.
func Schema(name string) ([]byte, error) {
	if name == ScenarioSchema {
		return scenario.Schema, nil
	}
	b, err := schemas.ReadFile(path.Join("schemas", name+".json"))
	if err != nil {
		return nil, fmt.Errorf("no schema is called %q; %s", name, scenario.DidYouMean(name, SchemaNames()))
	}
	return b, nil
}

// NewSchema makes dyno schema.
func NewSchema() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of scenario files, or of a command's --json",
		Long: `Schema prints a JSON Schema (draft 2020-12): that of scenario files, or of the object that commands print with --json.
The object's field schema names it: "dyno.capacity/1" is the schema capacity. Keys may be added, never changed.`,
		Example: `  dyno schema > dyno.schema.json           what the first line of a scenario by dyno init names
  dyno schema capacity | jq .properties
  dyno schema --list`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: SchemaNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(SchemaNames(), "\n"))
				return err
			}
			name := ScenarioSchema
			if len(args) == 1 {
				name = args[0]
			}
			b, err := Schema(name)
			if err != nil {
				return usage.Of(err)
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the names of the schemas")
	return cmd
}
