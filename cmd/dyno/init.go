package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment/environment"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"

	"github.com/spf13/cobra"
)

func newInit() *cobra.Command {
	var p request.Program
	cmd := &cobra.Command{
		Use:   "init [PACKAGE|URL] [FILE]",
		Short: "Write a scenario for a Go program, or for a service that runs",
		Long: `Init builds the Go program of a package, starts it for a moment, looks where it listens and what it answers, and writes
a scenario that dyno run and dyno capacity take. PACKAGE is the folder of the program; without one it is the only program in and
below the current folder. For a service that already runs, or is no Go program, name its URL.

Where there is no program it writes a commented scenario with every field explained, as it does for FILE -.
FILE is dyno.yaml unless given. An existing file is never replaced. Into the same folder it writes ` + scenario.SchemaFile + `, with which
editors complete and check the scenario.`,
		Example: `  dyno init ./cmd/server    writes dyno.yaml
  dyno init ./cmd/server --args '-config dev.yaml' --url-path /items
  dyno init http://127.0.0.1:8080/items    for a service that already runs
  dyno init - | less        just look at every field, explained`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.ErrOrStderr()
			what, name := "", "dyno.yaml"
			for i, arg := range args {
				switch {
				case i == 0 && (request.IsURL(arg) || request.IsPackage(arg)):
					what = arg
				case i == len(args)-1 && (arg == "-" && what == "" || request.LooksLikeScenario(arg)):
					name = arg
				default:
					return usage.Errorf("%s is neither a URL, nor the folder of a Go program, nor a file to write, which ends in .yaml", arg)
				}
			}
			if name == "-" && what == "" {
				_, err := cmd.OutOrStdout().Write(scenario.Starter())
				return err
			}
			if err := free(name); err != nil {
				return err
			}
			if what == "" {
				found := request.Programs(cmd.Context(), ".")
				switch {
				case len(found) == 0 && p.Unused() == nil:
					return starter(out, name)
				case len(found) != 1:
					return which(found)
				}
				what = found[0]
			}
			if !request.IsURL(what) {
				return ofProgram(cmd.Context(), out, &p, what, name)
			}
			if err := p.Unused(); err != nil {
				return err
			}
			s, err := ofRunning(what)
			if err != nil {
				return err
			}
			return writeScenario(out, name, s, []string{"Made by dyno init: dyno init - explains all fields, such as target.debug for a look inside."})
		},
	}
	p.Register(cmd.Flags())
	cmd.Flags().BoolP("yes", "y", false, "nothing is asked any more")
	cmd.Flags().MarkHidden("yes")
	return cmd
}

// which returns an error that lists the programs of which the user must name one.
func which(found []string) error {
	if len(found) == 0 {
		return usage.Errorf("there is no Go program in or below this folder: name its folder")
	}
	return usage.Errorf("there are several programs here; name one:%s", request.Lines("dyno init ", found))
}

// starter writes the commented scenario for a folder without a Go program.
func starter(out io.Writer, name string) error {
	text := append([]byte(scenario.Modeline+"\n"), scenario.Starter()...)
	if err := createWithSchema(name, text); err != nil {
		return err
	}
	fmt.Fprintf(out, `no Go program was found here
wrote %s, an example: write into target how your program starts, into load.url what to ask it; then: dyno run %[1]s
for a service that already runs: dyno init http://127.0.0.1:8080/, with its address
`, name)
	return nil
}

// usual are paths that many programs serve.
var usual = []string{"/", "/health", "/healthz", "/api/health", "/version", "/metrics"}

// ofProgram builds a program, starts it for a moment, and writes its scenario.
func ofProgram(ctx context.Context, out io.Writer, flags *request.Program, pkg, name string) error {
	t, path, err := flags.Target()
	if err != nil {
		return err
	}
	root, err := scenario.Root(name)
	if err != nil {
		return err
	}
	if err := request.RefuseLibrary(ctx, pkg); err != nil {
		return err
	}
	if t.Build, err = fromRoot(root, pkg, name); err != nil {
		return err
	}
	paths := usual
	if path != usual[0] {
		paths = []string{path}
	}
	programs := &environment.Programs{Scenario: &scenario.Scenario{Name: called(root, t.Build), Root: root, Target: t},
		Variants: []scenario.Variant{{}}, Say: func(s string) { fmt.Fprintln(out, s) }}
	if err := programs.Build(ctx); err != nil {
		return err
	}
	defer programs.Close()
	seen, err := programs.Look(ctx, *t.Ready.Port, paths)
	if err != nil {
		return fmt.Errorf("%w\nnothing was written; name what the program needs by --args '...' and --env KEY=VALUE", err)
	}
	notes, err := observed(out, seen, paths)
	if err != nil {
		return err
	}
	s := get(programs.Scenario.Name, seen.Answer.Scheme+"://${target.listen}", seen.Answer.Path)
	s.Target = scenario.Target{Process: scenario.Process{Build: t.Build, Args: t.Args, Env: t.Env, Ready: scenario.Ready{Port: seen.Port()}}}
	s.Load.TLS.Insecure = seen.Answer.Scheme == "https"
	return writeScenario(out, name, s, notes)
}

// get returns a scenario of GET requests for a path of a service.
func get(service, base, path string) *scenario.Scenario {
	return &scenario.Scenario{
		Name: letters(service), Mode: record.KindCapacity,
		Description: "The highest rate at which " + service + " answers 99% of requests within 20 ms.",
		Load:        scenario.Load{URL: base + workload.Literal(path), Requests: []workload.Request{{Method: http.MethodGet}}},
		SLO:         record.SLO{Latency: map[string]float64{"p99": 20}, Errors: record.DefaultErrors},
	}
}

// called returns the name of a package's program.
func called(root, pkg string) string { return letters(filepath.Base(filepath.Join(root, pkg))) }

// observed prints what was found out about a program, and returns it as comments for the
// scenario.
func observed(out io.Writer, s *environment.Seen, asked []string) (notes []string, err error) {
	listens := make([]string, len(s.Listens))
	for i, at := range s.Listens {
		listens[i] = at.String()
	}
	fmt.Fprintf(out, "it listens at %s\n", strings.Join(listens, ", "))
	a := s.Answer
	if a == nil {
		return nil, errors.New("it does not answer a GET over HTTP; nothing was written: dyno init - prints a scenario to edit, with calls of gRPC and over a WebSocket, too")
	}
	fmt.Fprintln(out, a)
	notes = append(notes, "Made by dyno init, which started the program: "+a.String()+".")
	edit := ""
	switch {
	case a.Status >= http.StatusMultipleChoices:
		edit = "That is no success, and counts against the slo: write into load.url what its users ask for, or name it by --url-path."
	case a.Asked != asked[0]:
		edit = "GET " + asked[0] + " was not answered with success: write into load.url what its users ask for, or name it by --url-path."
	}
	if edit != "" {
		fmt.Fprintln(out, edit)
		notes = append(notes, edit)
	}
	if others := slices.DeleteFunc(listens, func(l string) bool { return l == a.At.String() }); len(others) > 0 {
		notes = append(notes, "It listens at "+strings.Join(others, ", ")+", too.")
	}
	return append(notes, "dyno init - explains all fields, such as those for bodies, logins and mixes of requests."), nil
}

// writeScenario writes a scenario that dyno can run as it is.
func writeScenario(out io.Writer, name string, s *scenario.Scenario, top []string) error {
	comments := scenario.Starting()
	comments.Modeline, comments.Top = true, top
	var text bytes.Buffer
	if err := scenario.Write(&text, s, comments); err != nil {
		return err
	}
	if _, err := scenario.Parse(name, text.Bytes()); err != nil {
		return fmt.Errorf("what was found does not make a scenario; dyno init - prints one to edit: %w", err)
	}
	if err := createWithSchema(name, text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s; next: dyno capacity %s --quick\n", name, name)
	return nil
}

// free returns an error if a file cannot be created: because it exists, or because its folder
// does not.
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

// ofRunning returns the scenario of a service that is already running.
func ofRunning(address string) (*scenario.Scenario, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, usage.Errorf("%s is no URL of a service, such as http://127.0.0.1:8080/items", address)
	}
	base := u.Scheme + "://" + u.Host
	s := get(u.Host, base, cmp.Or(u.RequestURI(), "/"))
	s.Target = scenario.Target{URL: base}
	return s, nil
}

// fromRoot returns a package's path as the scenario must name it: relative to root, the nearest
// folder with a go.mod at or above the scenario.
func fromRoot(root, pkg, file string) (string, error) {
	abs, err := filepath.Abs(pkg)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, abs)
	switch rel = filepath.ToSlash(rel); {
	case err != nil:
		return "", err
	case strings.HasPrefix(rel, "../"):
		return "", fmt.Errorf("%s would lie outside the Go module of %s, from where it cannot build that; name a file in the module", file, pkg)
	case rel == ".":
		return rel, nil
	}
	return "./" + rel, nil
}

// createWithSchema writes a scenario, and the schema into the same folder.
func createWithSchema(name string, text []byte) error {
	if err := create(name, text, 0o644); err != nil {
		return err
	}
	return writeSchema(name)
}

// writeSchema writes the schema into a scenario's folder, unless the file exists.
func writeSchema(name string) error {
	file := filepath.Join(filepath.Dir(name), scenario.SchemaFile)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return create(file, scenario.Schema, 0o644)
}

// letters turns a text into a name of letters, digits, - and _.
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
