package main

import (
	"cmp"
	"io"
	"slices"

	"dyno/lab/record/redact"
	"dyno/lab/report/format"
	"dyno/lab/report/screen"

	"github.com/spf13/cobra"
)

// schemas maps commands to the names of their JSON objects, if those differ.
var schemas = map[string]string{"compare": "comparison", "diagnose": "diagnosis", "observe": "observation"}

// printFailure prints a JSON object for a command with --json that ended before it printed any.
// It searches the arguments for the flag, because they may not have been parsed.
func printFailure(stdout *counter, cmd *cobra.Command, args []string, reason error) {
	asked := slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	if !asked || stdout.n > 0 || cmd.Flags().Lookup("json") == nil {
		return
	}
	name := cmp.Or(schemas[cmd.Name()], cmd.Name())
	format.JSON(screen.New(stdout), struct {
		Schema string `json:"schema"`
		Valid  bool   `json:"valid"`
		Reason string `json:"reason"`
	}{"dyno." + name + "/1", false, redact.Text(reason.Error())})
}

// counter counts the bytes written through it, and keeps the first error.
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
