package authoring

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/scenario"
	"dyno/lab/scenario/draft"
	"dyno/lab/scenario/parser"
	"dyno/lab/source/programs"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// NewInit makes dyno init.
func NewInit() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "init [FILE|URL]",
		Short: "Write a scenario for the service in this folder",
		Long: `Init looks for a program in the current folder that serves HTTP: its flags, its port, the paths that it answers. It
asks what to start and what to load, and writes a scenario that dyno run and dyno capacity take. Without a terminal, or
with --yes, it takes the best guess, and says so. It starts nothing. For a service that already runs, name its URL.

Where it finds no program it writes a commented scenario with every field explained, as it does for FILE -.
FILE is dyno.yaml unless given. An existing file is never replaced. Beside the scenario it writes ` + draft.SchemaFile + `, with which
editors complete and check the scenario.`,
		Example: `  dyno init                 writes dyno.yaml
  dyno init --yes           the same without questions
  dyno init http://127.0.0.1:8080/items    for a service that already runs
  dyno init - | less        just look at every field, explained`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "dyno.yaml"
			if len(args) == 1 {
				name = args[0]
			}
			if name == "-" {
				_, err := cmd.OutOrStdout().Write(scenario.Starter())
				return err
			}
			running := ""
			if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
				running, name = name, "dyno.yaml"
			}
			if err := free(name); err != nil {
				return err
			}
			q := questions{out: cmd.ErrOrStderr()}
			if running != "" {
				s, err := ofRunning(running)
				if err != nil {
					return err
				}
				return write(&q, name, s)
			}
			if !yes && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) {
				q.in = bufio.NewScanner(cmd.InOrStdin())
			}
			return begin(&q, name)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: take the best guess")
	return cmd
}

// begin writes a scenario for the program in the current folder, else the commented one.
func begin(q *questions, name string) error {
	found, err := programs.Find(".")
	if err != nil {
		return err
	}
	if len(found) == 0 {
		text := append([]byte(draft.Modeline+"\n"), scenario.Starter()...)
		if err := createWithSchema(name, text); err != nil {
			return err
		}
		fmt.Fprintf(q.out, `no program that serves HTTP was found here
wrote %s, an example: write into target how your program starts, into load.url what to ask it; then: dyno run %[1]s
for a service that already runs: dyno init http://127.0.0.1:8080/, with its address
`, name)
		return nil
	}
	p, err := choose(q, found)
	if err != nil {
		return err
	}
	s := describe(q, p)
	if s.Target.Build, err = fromRoot(p.Build, name); err != nil {
		return err
	}
	return write(q, name, s)
}

// write writes a scenario that dyno takes as it is.
func write(q *questions, name string, s *draft.Scenario) error {
	text, err := s.YAML()
	if err != nil {
		return err
	}
	if _, err := parser.Parse(name, text); err != nil {
		return fmt.Errorf("what was found does not make a scenario; dyno init - prints one to edit: %w", err)
	}
	if err := createWithSchema(name, text); err != nil {
		return err
	}
	fmt.Fprintf(q.out, "wrote %s; next: dyno capacity %s --quick\n", name, name)
	return nil
}

// free returns an error if a file cannot be created, because it or no folder of it exists.
func free(name string) error {
	if _, err := os.Stat(name); err == nil {
		return fmt.Errorf("%s exists already; name another file", name)
	}
	folder := filepath.Dir(name)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s to write %s into; create it, or name a file elsewhere", folder, filepath.Base(name))
	}
	return nil
}

// ofRunning makes the scenario of a service that already runs.
func ofRunning(address string) (*draft.Scenario, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, usage.Errorf("%s is no URL of a service, such as http://127.0.0.1:8080/items", address)
	}
	base := u.Scheme + "://" + u.Host
	s := &draft.Scenario{Modeline: true, Name: letters(u.Host), SLO: "p99=20ms,errors=0.1%", URL: base}
	s.Description = "The highest rate at which " + u.Host + " answers 99% of requests within 20 ms."
	s.Target = draft.Target{URL: base}
	s.Classes = []draft.Class{{Name: "get", Method: "GET", Path: draft.Literal(cmp.Or(u.RequestURI(), "/"))}}
	s.Comments = []string{"Made by dyno init: dyno init - explains all fields, such as target.debug for a look inside."}
	return s, nil
}

// fromRoot returns a package of the current folder as the scenario's file must name it: from the
// nearest folder with a go.mod at or above the file.
func fromRoot(build, file string) (string, error) {
	if build == "" {
		return "", nil
	}
	root, err := parser.Root(file)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(build)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, abs)
	switch rel = filepath.ToSlash(rel); {
	case err != nil:
		return "", err
	case strings.HasPrefix(rel, "../"):
		return "", fmt.Errorf("%s would lie outside the Go module of %s, from where it cannot build that; name a file in the module", file, build)
	case rel == ".":
		return rel, nil
	}
	return "./" + rel, nil
}

// createWithSchema writes a scenario, and the schema beside it.
func createWithSchema(name string, text []byte) error {
	if err := create(name, text, 0o644); err != nil {
		return err
	}
	return schemaBeside(name)
}

// schemaBeside writes the schema beside a scenario unless it is there.
func schemaBeside(name string) error {
	file := filepath.Join(filepath.Dir(name), draft.SchemaFile)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return create(file, scenario.Schema, 0o644)
}

// questions asks the user, or takes the guesses.
type questions struct {
	in  *bufio.Scanner // nil: nothing is asked
	out io.Writer
}

// ask returns the answer, or the guess if that is empty or nothing is asked.
func (q *questions) ask(question, guess string) string {
	if q.in == nil {
		fmt.Fprintf(q.out, "%s: %s (a guess)\n", question, guess)
		return guess
	}
	fmt.Fprintf(q.out, "%s [%s]: ", question, guess)
	if !q.in.Scan() {
		fmt.Fprintln(q.out)
		return guess
	}
	return cmp.Or(strings.TrimSpace(q.in.Text()), guess)
}

// choose returns the program to start.
func choose(q *questions, found []programs.Program) (programs.Program, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	const most = 20
	for i, p := range found[:min(len(found), most)] {
		fmt.Fprintf(q.out, "%3d  %s (routes: %d)\n", i+1, what(p), len(p.Routes))
	}
	for range 3 {
		answer := q.ask("which program, by number", "1")
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(found) {
			return found[n-1], nil
		}
		fmt.Fprintf(q.out, "%q is not a number from 1 to %d\n", answer, len(found))
	}
	return programs.Program{}, errors.New("no program was chosen")
}

// what names a program.
func what(p programs.Program) string { return cmp.Or(p.Build, strings.Join(p.Command, " ")) }

// describe makes the scenario of a program.
func describe(q *questions, p programs.Program) *draft.Scenario {
	fmt.Fprintf(q.out, "start: %s\n", strings.Join(append([]string{what(p)}, p.Args...), " "))
	for _, f := range p.Found {
		fmt.Fprintf(q.out, "  %s\n", f)
	}
	base := "http://${target.listen}"
	if p.Address != "" {
		p.Move(q.ask("address", p.Address))
		base = "http://" + p.Address
		if l, err := net.Listen("tcp", p.Address); err != nil {
			fmt.Fprintf(q.out, "  it is taken now (%v): end what listens there before you measure\n", err)
		} else {
			l.Close()
		}
	}
	s := &draft.Scenario{Modeline: true, Name: name(p), SLO: "p99=20ms,errors=0.1%", URL: base + "/"}
	s.Description = "The highest rate at which " + s.Name + " answers 99% of requests within 20 ms."
	s.Target = draft.Target{Build: p.Build, Command: p.Command, Args: p.Args, Debug: p.Debug}
	for _, e := range p.Env {
		s.Target.Env = append(s.Target.Env, draft.Header{Name: e[0], Value: e[1]})
	}
	loaded := p.Load()
	var paths []string
	for _, r := range loaded {
		paths = append(paths, r.Sample())
	}
	if len(paths) == 0 {
		paths = []string{"/"}
		const edit = "no path was found that a GET answers: / is a guess, so edit load.url"
		p.Found = append(p.Found, edit)
		fmt.Fprintf(q.out, "  %s\n", edit)
	}
	switch {
	case p.Address == "":
		if !p.ReadyLine {
			s.Target.Port = new(int)
		}
	case p.Health() || p.Build == "" || runtime.GOOS != "linux": // elsewhere the ports of a process are not known
		s.Target.Ready = base + q.ask("path that answers when it is ready", p.Ready())
	default: // another path may answer with an error, as without a token
		if port, err := strconv.Atoi(p.Address[strings.LastIndexByte(p.Address, ':')+1:]); err == nil {
			s.Target.Port = &port
		}
	}
	answer := q.ask("paths to load, separated by spaces", strings.Join(paths, " "))
	for i, path := range strings.Fields(answer) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		class := draft.Class{Name: letters("GET" + path), Method: "GET", Path: draft.Literal(path)}
		if slices.ContainsFunc(s.Classes, func(c draft.Class) bool { return c.Name == class.Name }) {
			class.Name = fmt.Sprintf("path-%d", i+1)
		}
		for _, r := range loaded {
			if r.Sample() == path {
				class.Comment = r.String()
			}
		}
		s.Classes = append(s.Classes, class)
	}
	s.Comments = comments(p, loaded)
	return s
}

// name returns the scenario's name: the last part of what is started, else the folder's.
func name(p programs.Program) string {
	last := filepath.Base(p.Build)
	if p.Build == "" || p.Build == "." {
		wd, err := os.Getwd()
		if err != nil {
			return "service"
		}
		last = filepath.Base(wd)
	}
	return letters(last)
}

// letters makes a name of letters, digits, - and _.
func letters(s string) string {
	s = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, s), "-_")
	const most = 60
	return cmp.Or(s[:min(len(s), most)], "service")
}

// comments say what the scenario is based on, and which routes it leaves out.
func comments(p programs.Program, loaded []programs.Route) []string {
	out := []string{"Made by dyno init: every field is a guess from the code, so read it. dyno init - explains all fields."}
	for _, f := range p.Found {
		out = append(out, "Found: "+f+".")
	}
	if len(loaded) > 1 {
		out = append(out, "Delete the paths that answer with an error, as without a token: errors count against the slo.")
	}
	const most = 20
	n := 0
	for _, r := range p.Routes {
		if slices.Contains(loaded, r) {
			continue
		}
		if n++; n <= most {
			out = append(out, "Not loaded: "+r.String()+".")
		}
	}
	if n > most {
		out = append(out, fmt.Sprintf("Not loaded: %d more routes.", n-most))
	}
	return out
}
