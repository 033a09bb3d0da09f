package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dyno/parts/config"
	"dyno/parts/daemon"
	"dyno/parts/refusal"
)

// flagError turns what pflag says of a command line into a usage error that says how to fix it.
// Commands are searched for a flag that was given before any command, in this order.
func flagError(commands []*cobra.Command) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if missing := (*pflag.NotExistError)(nil); errors.As(err, &missing) {
			return daemon.Usage(unknownFlag(cmd, commands, missing))
		}
		if empty := (*pflag.ValueRequiredError)(nil); errors.As(err, &empty) {
			what, _ := pflag.UnquoteUsage(empty.GetFlag())
			return daemon.Usage(fmt.Errorf("--%s needs a value, as in --%[1]s %s", empty.GetFlag().Name, what))
		}
		return daemon.Usage(config.FlagError(err))
	}
}

// unknownFlag is the error for a flag that a command does not have. There are some dozens of flags,
// so it names the likeliest alone.
func unknownFlag(cmd *cobra.Command, commands []*cobra.Command, missing *pflag.NotExistError) error {
	name, dashes := missing.GetSpecifiedName(), "--"
	if group := missing.GetSpecifiedShortnames(); group != "" { // -from, as other programs have it
		name, _, _ = strings.Cut(group, "=")
		dashes = "-"
	}
	if !cmd.HasParent() {
		for _, owner := range commands {
			if flag := owner.Flags().Lookup(name); flag != nil {
				what, _ := pflag.UnquoteUsage(flag)
				return fmt.Errorf("%s%s is a flag of %s, as in %s", dashes, name, owner.Name(), strings.TrimSpace(owner.CommandPath()+" --"+name+" "+what))
			}
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	hint := cmd.CommandPath() + " --help lists those there are"
	if near := refusal.Nearest(name, names); near != "" {
		hint = "did you mean --" + near + "?"
	}
	return fmt.Errorf("unknown flag %s%s; %s", dashes, name, hint)
}
