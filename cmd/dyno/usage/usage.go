// Package usage explains what is wrong with a command line, and what to write instead.
//
// It does not explain errors that appear only when a command runs. It starts no goroutines.
package usage

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"dyno/lab/record/quantity"
	"dyno/lab/scenario/document"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Error is a mistake on the command line, or in a file that it names.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Errorf returns an Error; the arguments are those of fmt.Errorf.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of turns an error into an Error.
func Of(err error) error { return &Error{err} }

// UnknownCommand checks the arguments of the root command, which takes only commands.
func UnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if meant, ok := commands[args[0]]; ok {
		return Errorf("unknown command %q; did you mean %s?", args[0], meant)
	}
	return Errorf("unknown command %q; %s", args[0], suggestion(args[0], "", names, root))
}

// commands maps words that users may try to the command that they probably want.
var commands = map[string]string{
	"attack": "load", "benchmark": "bench", "hey": "load", "oha": "load", "stress": "load", "test": "load", "wrk": "load", "ab": "load", "k6": "import", "locust": "import",
	"convert": "import", "diff": "compare", "cmp": "compare", "benchstat": "bench", "profile": "diagnose", "analyze": "diagnose", "analyse": "diagnose", "why": "diagnose",
	"max": "capacity", "limit": "capacity", "serve": "live", "web": "live", "ui": "live", "show": "report", "check": "doctor", "new": "init", "create": "init", "optimize": "tune", "optimise": "tune",
}

// suggestion returns the name that was probably meant, or where all names are listed.
func suggestion(word, prefix string, names []string, cmd *cobra.Command) string {
	if near, ok := document.Nearest(word, names); ok {
		return "did you mean " + prefix + near + "?"
	}
	return "see " + cmd.CommandPath() + " --help"
}

// ExplainArgs makes a command explain a wrong number of arguments by its usage and first example.
func ExplainArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := oneDash(cmd); err != nil {
			return err
		}
		if check == nil || check(cmd, args) == nil {
			return nil
		}
		if len(args) > 0 {
			return Errorf("unexpected argument %q; write it as: dyno %s", args[len(args)-1], cmd.Use)
		}
		what := strings.Fields(cmd.Use)[1] // URL|SCENARIO, PACKAGES...
		what = strings.ReplaceAll(strings.TrimSuffix(what, "S..."), "|", " or ")
		example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		return Errorf("%s needs a %s, as in: %s", cmd.CommandPath(), what, example)
	}
}

// ours maps words that users may try as flags to what to write instead.
var ours = map[string]string{
	"version": "write dyno version", "p99": "write --slo p99=20ms", "p95": "write --slo p95=20ms", "format": "write --json for one object on stdout", "html": "it needs no flag: report.html is always written",
}

// takes describes, by type, the form of a flag's value.
var takes = map[string]string{
	"rate":     "a rate per second, as in 2000 or 900/s",
	"int":      "a whole number, as in 64",
	"uint64":   "a whole number, as in 64",
	"duration": "a duration, as in 10s or 500ms",
	"bool":     "true or false, or no value",
}

// FlagError explains a mistake in a flag: the required form of its value, or the flag that was
// probably meant.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	if wrong := oneDash(cmd); wrong != nil {
		return wrong
	}
	switch {
	case errors.As(err, &value) && value.GetFlag().Name == "duration" && cmd.Flags().Lookup("body") != nil && strings.ContainsAny(value.GetValue(), "{=@"):
		return Errorf("%s, not %q; a body is -b", written(value.GetFlag()), value.GetValue())
	case errors.As(err, &value) && quantity.Hint(err) != "":
		return Errorf("%s, not %q: %s", written(value.GetFlag()), value.GetValue(), quantity.Hint(err))
	case errors.As(err, &value) && whole(value) != "":
		return Errorf("%s, not %q: write %s", written(value.GetFlag()), value.GetValue(), whole(value))
	case errors.As(err, &value) && takes[value.GetFlag().Value.Type()] != "":
		return Errorf("%s, not %q: %s", written(value.GetFlag()), value.GetValue(), value.GetFlag().Usage)
	case errors.As(err, &missing):
		return Errorf("%s, but has none: %s", written(missing.GetFlag()), missing.GetFlag().Usage)
	case errors.As(err, &unknown):
		word, dashes := unknown.GetSpecifiedName(), "--"
		if letters := unknown.GetSpecifiedShortnames(); letters != "" { // short flags, as in -header
			word, dashes = letters, "-"
		}
		for _, name := range []string{word, word[:min(1, len(word))]} { // the flag may have its value attached: -n500
			if write := fromElsewhere(cmd, name); write != "" && (name == word || dashes == "-") {
				return Errorf("unknown flag: %s%s; %s", dashes, name, write)
			}
		}
		if write := ours[word]; write != "" && dashes == "--" {
			return Errorf("unknown flag: --%s; %s", word, write)
		}
		if others := having(cmd, word, dashes); others != "" {
			return Errorf("unknown flag: %s%s, which %s takes", dashes, word, others)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return Errorf("unknown flag: %s%s; %s", dashes, word, suggestion(word, "--", names, cmd))
	}
	return Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// having lists the other commands that have a flag; empty: there are none.
func having(cmd *cobra.Command, word, dashes string) string {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if f := c.Flags().Lookup(word); !c.Hidden && dashes == "--" && f != nil && !f.Hidden {
			names = append(names, c.CommandPath())
		}
	}
	return strings.Join(names, " or ")
}

// Help makes the help command answer an unknown word as the root command does.
func Help(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Run = nil
	help.RunE = func(_ *cobra.Command, words []string) error {
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root && len(rest) > 0 {
			return UnknownCommand(root, words)
		}
		return cmd.Help()
	}
}

var thousands = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+$`)

// whole returns the whole number that a flag's value probably means, as in 1k and 1,000. It is
// empty if the value means no whole number.
func whole(value *pflag.InvalidValueError) string {
	text := value.GetValue()
	if value.GetFlag().Value.Type() != "int" || strings.Contains(text, "/") {
		return ""
	}
	if thousands.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	v, err := quantity.Rate(text)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// written describes how to write a flag, as in "-r takes a rate per second, as in 2000 or 900/s".
func written(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	return name + " takes " + cmp.Or(takes[f.Value.Type()], "a value")
}

// Exclusive rewords cobra's error about mutually exclusive flags, which has no type of its own.
// It returns nil for any other error.
func Exclusive(err error) error {
	const start = "if any flags in the group ["
	group, ok := strings.CutPrefix(err.Error(), start)
	if !ok {
		return nil
	}
	group, _, _ = strings.Cut(group, "]")
	return Errorf("--%s exclude each other; give one of them", strings.ReplaceAll(group, " ", " and --"))
}
