package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// command builds the command line: serve and the jobs, which have the flags, and what else there is.
func (s Service) command(env func(string) (string, bool), stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           s.Name,
		Short:         s.Short,
		Long:          s.long(),
		Example:       s.Example,
		Args:          NoArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(s.flagError)
	root.Version = s.versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(help(root))
	root.AddCommand(s.serving(env, stdout, stderr), s.assemblies(), s.version())
	for _, j := range s.Jobs {
		root.AddCommand(s.job(j, env, stdout, stderr))
	}
	for _, c := range s.Commands {
		s.interruptible(c, stderr)
		root.AddCommand(c)
	}
	return root
}

func (s Service) serving(env func(string) (string, bool), stdout, stderr io.Writer) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: fmt.Sprintf(`Every flag can also be given as an environment variable (--listen as %s_LISTEN) or as a key of the
YAML file given with --config (listen: 127.0.0.1:8080). A flag wins over the environment, that over the file.
When it is ready, %s prints one JSON line with the addresses it is bound to. Logs go to stderr.`,
			envPrefix(s.Name), s.Name),
		Example: s.servingExample(),
		Args:    NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd.Flags(), s, env, elsewhere(cmd)); err != nil {
				return err
			}
			return s.serve(cmd.Context(), o, stdout, stderr)
		},
	}
	o.declare(cmd.Flags(), s)
	if s.Flags != nil {
		s.Flags(cmd.Flags())
	}
	return cmd
}

// servingExample is what of the examples is about serve.
func (s Service) servingExample() string {
	var lines []string
	for line := range strings.Lines(s.Example) {
		if strings.HasPrefix(strings.TrimSpace(line), s.Name+" serve") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

func (s Service) long() string {
	if s.Long != "" {
		return s.Long
	}
	return s.Short
}

// NoArguments is cobra's, but that its error is the user's to mend and names what there is.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if len(names) == 0 {
		return usageError{fmt.Errorf("%s takes no arguments, not even %q", cmd.Name(), args[0])}
	}
	return unknown("command", args[0], names)
}

func (s Service) assemblies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "assemblies",
		Short:   "Print the seams, their implementations, the settings and the ladder",
		Example: "  " + s.Name + " assemblies --json",
		Args:    NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return s.printJSON(cmd.OutOrStdout())
			}
			return s.printText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

// printJSON prints the contract's object. Keys may be added, never changed.
func (s Service) printJSON(w io.Writer) error {
	type seam struct {
		Name  string `json:"name"`
		Doc   string `json:"doc"`
		Impls []Impl `json:"implementations"`
	}
	out := struct {
		Schema     string    `json:"schema"`
		Service    string    `json:"service"`
		Assemblies []string  `json:"assemblies"`
		Seams      []seam    `json:"seams"`
		Settings   []Setting `json:"settings"`
		Ladder     []Step    `json:"ladder"`
	}{Schema: "dyno.assemblies/1", Service: s.Name, Assemblies: s.Assembly.Names(),
		Seams: []seam{}, Settings: append([]Setting{}, s.Assembly.Settings...), Ladder: append([]Step{}, s.Assembly.Ladder...)}
	for _, sm := range s.Assembly.Seams {
		out.Seams = append(out.Seams, seam(sm))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func (s Service) printText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, seam := range s.Assembly.Seams {
		fmt.Fprintf(t, "seam %s: %s\n", seam.Name, seam.Doc)
		for _, i := range seam.Impls {
			fmt.Fprintf(t, "  %s\t%s\n", i.Name, i.Doc)
		}
		fmt.Fprintln(t)
	}
	if len(s.Assembly.Settings) > 0 {
		fmt.Fprintln(t, "settings:")
	}
	for _, set := range s.Assembly.Settings {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", set.Name, set.Default, set.span(), set.Doc)
	}
	fmt.Fprintf(t, "\nladder (%s is before the first step, %s after the last):\n", Baseline, Tuned)
	for _, step := range s.Assembly.Ladder {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", step.Name, strings.Join(pairs(step.Change), " "), step.Why)
	}
	return t.Flush()
}

// span says in short what a setting takes.
func (s Setting) span() string {
	switch {
	case len(s.Values) > 0:
		return strings.Join(s.Values, "|")
	case s.Min != "":
		return s.Min + ".." + s.Max
	}
	return s.Kind
}

func pairs(m map[string]string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
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

func (s Service) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), s.versionLine())
			return err
		},
	}
}

func (s Service) versionLine() string {
	version, commit := "unknown", "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
		for _, set := range build.Settings {
			if set.Key == "vcs.revision" {
				commit = set.Value
			}
		}
	}
	return fmt.Sprintf("%s %s commit %s %s %s/%s", s.Name, version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
