package dyno

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is a part of the house and what it may import of the house. Subpackages belong to their room
// and may import one another freely; what is not listed is forbidden.
type room struct {
	dir     string   // relative to the root; a trailing /* stands for each folder in it
	imports []string // rooms, in the same form
	reason  string
}

// house is the house, from the top floor down. The first row that matches a folder holds.
var house = []room{
	{"cmd/dyno", []string{"lab/*", "agent", "parts/manual", "parts/process"}, "the lab's command wires the lab together, and runs other tools; it knows no service"},
	{"services/cmd/*", []string{"services/*", "parts/*", "agent"}, "a service's commands are flags and print; a service never needs the lab"},
	{"bench/*", []string{"bench/*", "services/*", "parts/*", "lab/*", "subjects/*", "agent"}, "rivals, exhibits, tests from outside and tools of those who change the repository; nothing imports them"},
	{"deploy/*", nil, "programs that release the repository need none of it, so that they can rewrite all of it"},
	{"subjects/*", []string{"subjects/*", "agent"}, "small servers of known behaviour must not depend on what is tested with them"},

	{"lab/live", []string{"lab/*", "agent"}, "floor 5: serves report's page while an experiment runs"},
	{"lab/experiment", []string{"lab/record", "lab/load", "lab/probe", "lab/scenario", "lab/workload", "lab/capacity", "lab/diagnose", "lab/compare", "lab/tune", "lab/escape", "parts/process", "agent"},
		"floor 4: the only executor; it shows nothing, so that what it ran can be shown in any form"},
	{"lab/gobench", []string{"lab/compare", "lab/revision", "lab/report", "parts/process"}, "floor 4: the executor of Go benchmarks; it knows no load, and shows a result in the forms that reports have"},
	{"lab/report", []string{"lab/record", "lab/capacity", "lab/diagnose", "lab/compare", "lab/tune"},
		"floor 3: says again what records and analyses say; it must work on a folder from another machine"},
	{"lab/capacity", []string{"lab/record"}, "floor 2: an analysis is pure, so that it can be tested on made-up records"},
	{"lab/compare", []string{"lab/record"}, "floor 2: an analysis is pure, so that it can be tested on made-up records"},
	{"lab/diagnose", []string{"lab/record"}, "floor 2: an analysis is pure, so that it can be tested on made-up records"},
	{"lab/observe", []string{"lab/record", "lab/diagnose"}, "floor 2: an analysis is pure, so that it can be tested on made-up records; what a stack means is known to diagnose"},
	{"lab/tune", []string{"lab/record"}, "floor 2: a planner is pure, so that it can be tested on simulated programs"},
	{"lab/load", []string{"lab/record", "lab/workload", "agent"}, "floor 2: a producer knows the waist and the clock, not its siblings"},
	{"lab/probe", []string{"lab/record", "agent"}, "floor 2: a producer knows the waist and the agent's wire types, not its siblings"},
	{"lab/revision", []string{"parts/process"}, "floor 2: builds what git knows; it measures nothing"},
	{"lab/escape", []string{"lab/record"}, "floor 2: a producer reads code, with the compiler's help; what it costs per request is joined above"},
	{"lab/importer", []string{"lab/scenario", "lab/workload", "lab/record"}, "floor 2: reads loads of other tools into scenarios, and carries none out"},
	{"lab/scenario", []string{"lab/record", "lab/workload"}, "floor 2: a scenario says what to run, and does not know the executor"},
	{"lab/workload", nil, "floor 1: what a load is, for those that describe, send and share it; it imports nothing of the house"},
	{"lab/record", []string{"parts/redact"}, "floor 1: the waist imports nothing but how secrets are hidden, so that everything can stand on it"},

	{"services/*", []string{"parts/*", "agent"}, "a service is useful without the lab and without the other services"},
	{"parts/*", []string{"parts/*", "agent"}, "floor 0: one structure or mechanism, of use to any service"},
	{"agent", nil, "floor 0: what other people's services import: the standard library only"},
}

// outside lists what a room may import from beyond the repository, where that is limited.
var outside = map[string]func(importPath string) bool{
	"agent": func(p string) bool { return !strings.Contains(strings.Split(p, "/")[0], ".") },
}

// module is the path in go.mod, the one place that sets it.
var module = modulePath()

// forTests is the part that the tests of every room may import.
const forTests = "parts/quicktest"

func TestArrowsPointDown(t *testing.T) {
	for _, file := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		from, ok := roomOf(dir)
		if !ok {
			if dir != "." {
				t.Errorf("%s: no room of the house is called %s; add it to the table in rules_test.go with its reason", file, dir)
			}
			continue
		}
		for _, imported := range importsOf(t, file) {
			inside, isOurs := strings.CutPrefix(imported, module+"/")
			if !isOurs {
				if allowed := outside[from.dir]; allowed != nil && !allowed(imported) && !strings.HasSuffix(file, "_test.go") {
					t.Errorf("%s imports %s: %s", file, imported, from.reason)
				}
				continue
			}
			if inside == forTests && strings.HasSuffix(file, "_test.go") && from.dir != "agent" {
				continue
			}
			if sameRoom(from.dir, dir, inside) || slices.ContainsFunc(from.imports, func(r string) bool { return within(r, inside) }) {
				continue
			}
			t.Errorf("%s imports %s: %s", file, imported, from.reason)
		}
	}
}

// A package that a program imports brings no command line along.
func TestOnlyCommandsImportCobra(t *testing.T) {
	for _, file := range goFiles(t) {
		if file := filepath.ToSlash(file); within("cmd", file) || within("services/cmd", file) || within("services/*/cmd", file) || within("parts/command", file) || within("parts/manual", file) || within("bench/faults", file) {
			continue
		}
		if slices.Contains(importsOf(t, file), "github.com/spf13/cobra") {
			t.Errorf("%s imports cobra: commands are in folders cmd/ and bench/faults, packages offer what they run", file)
		}
	}
}

// A row for a folder that does not exist permits what nothing needs.
func TestRowsExist(t *testing.T) {
	var dirs []string
	for _, file := range goFiles(t) {
		dirs = append(dirs, filepath.ToSlash(filepath.Dir(file)))
	}
	exists := func(pattern string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return within(pattern, dir) })
	}
	for _, r := range house {
		for _, row := range append([]string{r.dir}, r.imports...) {
			if !exists(row) {
				t.Errorf("%s, in the row of %s, does not exist: take it out of the table in rules_test.go", row, r.dir)
			}
		}
	}
	for outer, rows := range inside {
		for _, r := range rows {
			for _, row := range append([]string{r.dir}, r.imports...) {
				if !exists(path.Join(outer, row)) {
					t.Errorf("%s, in the row of %s inside %s, does not exist: take it out of the table in rules_test.go", row, r.dir, outer)
				}
			}
		}
	}
}

// Every package says what it is for.
func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		documented[filepath.Dir(file)] = documented[filepath.Dir(file)] || f.Doc != nil
		for _, vague := range []string{"util", "utils", "common", "helper", "helpers", "misc"} {
			if f.Name.Name == vague {
				t.Errorf("%s: a package is named after what it provides, not %q", file, vague)
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment says what the package is for", dir)
		}
	}
}

// goFiles lists the repository's Go files by their path from the root.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "dyno-out" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return filepath.SkipDir
		case strings.HasSuffix(p, ".go"):
			files = append(files, p)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("listing Go files: %d found, %v", len(files), err)
	}
	return files
}

func modulePath() string {
	text, _ := os.ReadFile("go.mod")
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func roomOf(dir string) (room, bool) {
	for _, r := range house {
		if within(r.dir, dir) {
			return r, true
		}
	}
	return room{}, false
}

// within reports whether dir is the room or lies in it; a * in the room's name stands for one
// folder.
func within(room, dir string) bool {
	want, have := strings.Split(room, "/"), strings.Split(dir, "/")
	if len(have) < len(want) {
		return false
	}
	ok, _ := path.Match(room, strings.Join(have[:len(want)], "/"))
	return ok
}

// sameRoom reports whether both folders lie in the same one of the rooms that the pattern stands
// for.
func sameRoom(pattern, a, b string) bool {
	n := len(strings.Split(pattern, "/"))
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return len(x) >= n && len(y) >= n && slices.Equal(x[:n], y[:n])
}

func TestRulesCatch(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"lab/record", "lab/load", false},
		{"lab/capacity", "lab/compare", false},
		{"lab/load/http1", "lab/load", true},
		{"services/notify", "lab/load", false},
		{"bench/claims/queues", "lab/load/windows", true},
		{"bench/peers/raw", "bench/peers/callers", true},
		{"bench/bots", "services/arena/wire", true},
		{"services/notify", "bench/peers/callers", false},
		{"lab/experiment", "bench/peers/callers", false},
		{"services/notify", "services/chain", false},
		{"services/notify/sink", "services/notify", true},
		{"agent", "parts/wal", false},
		{"cmd/dyno", "services/notify", false},
		{"services/cmd/ordersd", "parts/command", true},
		{"services/cmd/arenad", "lab/load/sessions", false},
		{"parts/command", "services/notify", false},
		{"lab/report", "lab/experiment", false},
	} {
		r, _ := roomOf(tt.from)
		got := sameRoom(r.dir, tt.from, tt.to) || slices.ContainsFunc(r.imports, func(p string) bool { return within(p, tt.to) })
		if got != tt.ok {
			t.Errorf("%s importing %s: permitted %v, want %v", tt.from, tt.to, got, tt.ok)
		}
	}
}

func TestRulesCatchInside(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"dispatch", "api", false},
		{"dispatch", "webhook", true},
		{"webhook", "dispatch", false},
		{"journal", "dispatch", false},
		{"soak", "soak/history", true},
		{".", "api", true},
		{"api", ".", false},
	} {
		if got := permitted(inside["services/notify"], tt.from, tt.to); got != tt.ok {
			t.Errorf("%s importing %s: permitted %v, want %v", tt.from, tt.to, got, tt.ok)
		}
	}
}
