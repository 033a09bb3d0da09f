package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"dyno/lab/record/redact"
	"dyno/lab/report/screen"

	"github.com/spf13/cobra"
)

// schemas maps commands to their names in JSON, if those differ.
var schemas = map[string]string{"compare": "comparison", "diagnose": "diagnosis"}

// printFailure prints the JSON object of a command with --json that ended before it printed any.
// It looks for the flag in the arguments, because they may not parse.
func printFailure(stdout *counter, cmd *cobra.Command, args []string, reason error) {
	asked := slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	if !asked || stdout.n > 0 || cmd.Flags().Lookup("json") == nil {
		return
	}
	name := cmp.Or(schemas[cmd.Name()], cmd.Name())
	enc := json.NewEncoder(screen.New(stdout))
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	enc.Encode(struct {
		Schema string `json:"schema"`
		Valid  bool   `json:"valid"`
		Reason string `json:"reason"`
	}{"dyno." + name + "/1", false, redact.Text(reason.Error())})
}

// counter counts the bytes that are written through it, and keeps the first error.
type counter struct {
	w   io.Writer
	n   int
	err error
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	c.err = cmp.Or(c.err, err)
	return n, err
}
