package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// unknownCommand checks the root's arguments: it takes commands only.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return usage("unknown command %q; %s", args[0], suggestion(args[0], "", names, root))
}

// suggestion names the word that was probably meant, or the place where all names are listed.
func suggestion(word, prefix string, names []string, cmd *cobra.Command) string {
	if near, ok := scenario.Nearest(word, names); ok {
		return "did you mean " + prefix + near + "?"
	}
	return "see " + cmd.CommandPath() + " --help"
}

// inWords makes a command answer a wrong number of arguments with its usage and first example.
func inWords(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil || check(cmd, args) == nil {
			return nil
		}
		if len(args) > 0 {
			return usage("unexpected argument %q; write it as: dyno %s", args[len(args)-1], cmd.Use)
		}
		what := strings.Fields(cmd.Use)[1] // URL|SCENARIO, PACKAGES...
		what = strings.ReplaceAll(strings.TrimSuffix(what, "S..."), "|", " or ")
		example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		return usage("%s needs a %s, as in: %s", cmd.CommandPath(), what, example)
	}
}

// takes describes the form of a flag's value, by type.
var takes = map[string]string{
	"float64":  "a number, as in 2000",
	"int":      "a whole number, as in 64",
	"duration": "a duration, as in 10s or 500ms",
	"bool":     "true or false, or no value",
}

// flagError describes a fault in a flag: the form of its value, and the flag that was probably
// meant.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &value) && takes[value.GetFlag().Value.Type()] != "":
		return usage("%s, not %q: %s", written(value.GetFlag()), value.GetValue(), value.GetFlag().Usage)
	case errors.As(err, &missing):
		return usage("%s, but has none: %s", written(missing.GetFlag()), missing.GetFlag().Usage)
	case errors.As(err, &unknown):
		word, dashes := unknown.GetSpecifiedName(), "--"
		if letters := unknown.GetSpecifiedShortnames(); letters != "" { // -header
			word, dashes = letters, "-"
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usage("unknown flag: %s%s; %s", dashes, word, suggestion(word, "--", names, cmd))
	}
	return usage("%w; see %s --help", err, cmd.CommandPath())
}

// written describes how to write a flag: "-r takes a number, as in 2000".
func written(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	return name + " takes " + cmp.Or(takes[f.Value.Type()], "a value")
}

// exclusive rewords cobra's error about mutually exclusive flags, which has no type of its own;
// nil: it is another error.
func exclusive(err error) error {
	const start = "if any flags in the group ["
	group, ok := strings.CutPrefix(err.Error(), start)
	if !ok {
		return nil
	}
	group, _, _ = strings.Cut(group, "]")
	return usage("--%s exclude each other; give one of them", strings.ReplaceAll(group, " ", " and --"))
}

// schemas maps commands to their names in JSON, if those differ.
var schemas = map[string]string{"compare": "comparison", "diagnose": "diagnosis", "calibrate": "calibration"}

// printFailure prints the JSON object of a command with --json that ended before it printed any.
// It looks for the flag in the arguments, because they may not parse.
func printFailure(stdout *counter, cmd *cobra.Command, args []string, reason error) {
	asked := slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	if !asked || stdout.n > 0 || cmd.Flags().Lookup("json") == nil {
		return
	}
	name := cmd.Name()
	if other, ok := schemas[name]; ok {
		name = other
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	enc.Encode(struct {
		Schema string `json:"schema"`
		Valid  bool   `json:"valid"`
		Reason string `json:"reason"`
	}{"dyno." + name + "/1", false, record.Redact(reason.Error())})
}

// counter counts the bytes that are written through it.
type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}
