package main

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/scenario"
	"dyno/lab/scenario/document"

	"github.com/spf13/cobra"
)

// published are the schemas of the commands' JSON, made from Go types; TestSchemas writes them.
//
//go:embed schemas/*.json
var published embed.FS

// scenarioSchema is the name of the schema of scenario files.
const scenarioSchema = "scenario"

func schemaNames() []string {
	names := []string{scenarioSchema}
	entries, err := published.ReadDir("schemas")
	if err != nil {
		return names // they are embedded
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

func publishedSchema(name string) ([]byte, error) {
	if name == scenarioSchema {
		return scenario.Schema, nil
	}
	b, err := published.ReadFile(path.Join("schemas", name+".json"))
	if err != nil {
		return nil, fmt.Errorf("no schema is called %q; %s", name, document.DidYouMean(name, schemaNames()))
	}
	return b, nil
}

func newSchema() *cobra.Command {
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
		ValidArgs: schemaNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(schemaNames(), "\n"))
				return err
			}
			name := scenarioSchema
			if len(args) == 1 {
				name = args[0]
			}
			b, err := publishedSchema(name)
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
