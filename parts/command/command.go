// Package command is the command line of a service's command: serve, the jobs, assemblies, version
// and help, and what the service adds to them. What they do is parts/daemon; a command is wiring
// only:
//
//	func main() { service.Main(orders.Service(), token(), seed()) }
//
// It is not for cmd/dyno, which has no assemblies. It starts no goroutines of its own: those of
// daemon.Interruptible end with the command.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"dyno/parts/daemon"
	"dyno/parts/manual"
	"dyno/parts/refusal"
)

// Main runs the command and exits.
func Main(s daemon.Service, commands ...*cobra.Command) {
	os.Exit(Run(context.Background(), s, commands, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// Run runs the command with these arguments and environment and returns its exit code. It ends when
// the service does; the end of ctx counts as the first SIGTERM. SIGTERM and SIGINT end the context
// and the stdin of the service's own commands, as daemon.Interruptible says.
func Run(ctx context.Context, s daemon.Service, commands []*cobra.Command, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	err := s.Check()
	if err == nil {
		root := commandLine(s, commands, env, stdout, stderr)
		root.SetArgs(args)
		root.SetOut(stdout)
		root.SetErr(stderr)
		err = root.ExecuteContext(ctx)
	}
	return daemon.ExitCode(s.Name, err, stderr)
}

func commandLine(s daemon.Service, commands []*cobra.Command, env func(string) (string, bool), stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           s.Name,
		Short:         s.Short,
		Long:          s.Long,
		Example:       s.Example,
		Args:          NoArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       versionLine(s.Name),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(help(root))
	root.AddCommand(assemblies(s), version(s.Name), manuals(s.Name))
	var owners []*cobra.Command
	for _, t := range s.Tasks(env, stdout, stderr) {
		owners = append(owners, task(t))
	}
	for _, c := range commands {
		interruptible(s, c, stderr)
		owners = append(owners, c)
	}
	root.AddCommand(owners...)
	root.SetFlagErrorFunc(flagError(owners))
	return root
}

func task(t *daemon.Task) *cobra.Command {
	cmd := &cobra.Command{
		Use:     t.Name,
		Short:   t.Short,
		Long:    t.Long,
		Example: t.Example,
		Args:    NoArguments,
		RunE:    func(cmd *cobra.Command, args []string) error { return t.Run(cmd.Context(), args) },
	}
	if t.Args != "" {
		cmd.Use += " " + t.Args
		cmd.Args = nil
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(t.Flags)
	return cmd
}

// interruptible lets the first SIGINT or SIGTERM end the context of a command, and with it what the
// command reads from stdin. The second ends the process.
func interruptible(s daemon.Service, c *cobra.Command, stderr io.Writer) {
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return s.Interruptible(cmd.Context(), cmd.Name(), cmd.InOrStdin(), stderr, func(ctx context.Context, stdin io.Reader) error {
			cmd.SetContext(ctx)
			cmd.SetIn(stdin)
			return run(cmd, args)
		})
	}
}

// NoArguments is cobra's, but that its error is a usage error and names the commands that exist.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if len(names) == 0 {
		return daemon.Usage(fmt.Errorf("%s takes no arguments, not even %q", cmd.Name(), args[0]))
	}
	return daemon.Usage(refusal.Unknown("command", args[0], names...))
}

// Arguments accepts from least to most arguments; a usage error says how to write them.
func Arguments(least, most int, write string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return daemon.Usage(errors.New(write))
		}
		return nil
	}
}

func assemblies(s daemon.Service) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "assemblies",
		Short:   "Print the seams, their implementations, the settings and the ladder",
		Example: "  " + s.Name + " assemblies --json",
		Args:    NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.Assembly.Print(cmd.OutOrStdout(), s.Name, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

// help is cobra's, but that a command that does not exist is an error.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, left, err := root.Find(args)
			if err == nil && len(left) > 0 {
				err = NoArguments(cmd, left)
			}
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

func manuals(name string) *cobra.Command {
	cmd := manual.New(name)
	cmd.Args = Arguments(1, 1, "manual takes one folder, as in "+name+" manual ~/.local/share")
	return cmd
}

func version(name string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine(name))
			return err
		},
	}
}

// buildVersion and buildCommit are what the linker was given where the source is no repository, as
// in deploy/Dockerfile: -X dyno/parts/command.buildVersion=v1.2.3. Empty: the toolchain's stamp.
var buildVersion, buildCommit string

func versionLine(name string) string {
	version, commit := "unknown", "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
		for _, set := range build.Settings {
			if set.Key == "vcs.revision" {
				commit = set.Value
			}
		}
	}
	version, commit = cmp.Or(buildVersion, version), cmp.Or(buildCommit, commit)
	return fmt.Sprintf("%s %s commit %s %s %s/%s", name, version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
