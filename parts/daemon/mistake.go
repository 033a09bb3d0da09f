package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError turns what pflag says of a command line into a usage error that says how to mend it.
func (s Service) flagError(cmd *cobra.Command, err error) error {
	if missing := (*pflag.NotExistError)(nil); errors.As(err, &missing) {
		return s.unknownFlag(cmd, missing)
	}
	if empty := (*pflag.ValueRequiredError)(nil); errors.As(err, &empty) {
		what, _ := pflag.UnquoteUsage(empty.GetFlag())
		return usageError{fmt.Errorf("--%s needs a value, as in --%[1]s %s", empty.GetFlag().Name, what)}
	}
	return usageError{valueError(err)}
}

// unknownFlag is the error for a flag that a command has not.
func (s Service) unknownFlag(cmd *cobra.Command, missing *pflag.NotExistError) error {
	name, dashes := missing.GetSpecifiedName(), "--"
	if group := missing.GetSpecifiedShortnames(); group != "" { // -from, as other programs have it
		name, _, _ = strings.Cut(group, "=")
		dashes = "-"
	}
	if owner := s.owner(cmd, name); owner != nil {
		what, _ := pflag.UnquoteUsage(owner.Flags().Lookup(name))
		return usageError{fmt.Errorf("%s%s is a flag of %s, as in %s", dashes, name, owner.Name(), strings.TrimSpace(owner.CommandPath()+" --"+name+" "+what))}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return usageError{fmt.Errorf("unknown flag %s%s; %s", dashes, name, hint("--", name, names, cmd.CommandPath()+" --help lists those there are"))}
}

// owner is which command has a flag that was given before any command, the service's own first.
func (s Service) owner(root *cobra.Command, flag string) *cobra.Command {
	commands := []string{"serve"}
	for _, j := range s.Jobs {
		commands = append(commands, j.Name)
	}
	for _, c := range s.Commands {
		commands = append(commands, c.Name())
	}
	for _, name := range commands {
		if c, _, err := root.Find([]string{name}); err == nil && c != root && c.Flags().Lookup(flag) != nil {
			return c
		}
	}
	return nil
}

// hint is what is said of a flag or a key that does not exist. There are some dozens of them, so it names the
// likeliest alone.
func hint(mark, name string, exist []string, otherwise string) string {
	if n := nearest(name, exist); n != "" {
		return "did you mean " + mark + n + "?"
	}
	return otherwise
}

// valueError says in a user's words what is wrong with a flag's value; other errors stay as they are.
func valueError(err error) error {
	invalid := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &invalid) {
		return err
	}
	flag, kind := invalid.GetFlag(), ""
	switch flag.Value.Type() {
	case "uint", "uint8", "uint16", "uint32", "uint64":
		kind = "no whole number of 0 or more"
	case "int", "int8", "int16", "int32", "int64":
		kind = "no whole number"
	case "float32", "float64":
		kind = "no number"
	case "bool":
		kind = "neither true nor false"
	case "duration":
		kind = "no time such as 1m30s"
	}
	switch {
	case errors.Is(invalid, strconv.ErrRange):
		kind = "out of range"
	case flag.Name == levelFlag:
		kind = "none of debug, info, warn and error"
	case kind == "":
		return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return fmt.Errorf("--%s %q is %s", flag.Name, invalid.GetValue(), kind)
}
