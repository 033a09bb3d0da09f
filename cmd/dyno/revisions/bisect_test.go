package revisions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyno/cmd/dyno/request"
	"dyno/lab/compare"
	"dyno/lab/revision"
	"dyno/lab/scenario"

	"github.com/spf13/pflag"
)

// costly is a program that prints what a request costs it.
func costly(cost string) string {
	return "package main\n\nfunc main() { println(" + strconv.Quote(cost) + ") }\n"
}

// repository makes a git repository, with one commit for each text of server/main.go, and makes
// it the current folder.
func repository(t *testing.T, texts ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	run := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.test"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	for i, text := range texts {
		if err := errors.Join(os.MkdirAll("server", 0o755), os.WriteFile("go.mod", []byte("module example.test/m\n\ngo 1.21\n"), 0o644),
			os.WriteFile("server/main.go", []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		run("add", "-A")
		run("commit", "-q", "--allow-empty", "-m", fmt.Sprintf("commit %d", i))
	}
}

func source(t *testing.T) *Source {
	t.Helper()
	var q request.Flags
	var p request.Program
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	q.Register(flags)
	p.Register(flags)
	start, err := q.Start(t.Context(), &p, "./server")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), start, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// made returns a search over a line of simulated programs. Each text is a program's cost, or
// "broken", "crash" or "noise"; the first is the good one.
func made(t *testing.T, texts []string) (x *search, good revision.Revision) {
	var all []revision.Revision
	text := map[string]string{} // by hash
	for i, of := range texts {
		rev := revision.Revision{Hash: fmt.Sprintf("%040d", i), Subject: fmt.Sprintf("commit %d", i)}
		all, text[rev.Hash] = append(all, rev), of
	}
	x = &search{line: all[1:], gate: compare.Gate{Metric: compare.MetricCPU, Op: "<=", Bound: 1.1}, say: func(s string) { t.Log(s) }}
	x.build = func(_ context.Context, rev revision.Revision) (revision.Program, error) {
		p := revision.Program{Revision: rev, Binary: text[rev.Hash], Sum: text[rev.Hash]}
		if p.Binary == "broken" {
			return p, &revision.BuildError{Revision: rev, Err: errors.New("the compiler refused")}
		}
		return p, nil
	}
	x.between = (&request.Start{Scenario: &scenario.Scenario{}}).Between
	x.measure = func(_ context.Context, sc *scenario.Scenario, _ int) (*compare.Comparison, string, error) {
		c := &compare.Comparison{Metric: compare.MetricCPU, Ratio: 1.05, Interval: &[2]float64{0.5, 1.5}, Verdict: compare.NotDecided}
		switch cost := sc.Variants[1].Command[0]; cost {
		case "crash":
			return nil, "", errors.New("the target ended with exit code 2\nand a long log")
		case "noise":
		default:
			after, err := strconv.ParseFloat(cost, 64)
			before, err2 := strconv.ParseFloat(sc.Variants[0].Command[0], 64)
			if err := errors.Join(err, err2); err != nil {
				return nil, "", err
			}
			c.Ratio = after / before
			c.Interval = &[2]float64{c.Ratio - 0.01, c.Ratio + 0.01}
		}
		return c, "out", nil
	}
	return x, all[0]
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name     string
		texts    []string
		first    string   // subject; empty: not found
		suspects []string // subjects
		measured int
		answer   string
	}{
		{"a planted commit", []string{"10", "10.01", "10.02", "10.03", "20", "20.01", "20.02"},
			"commit 4", []string{"commit 4"}, 3, "the first commit that misses cpu<=1.1 is"},
		{"the same program is measured once", []string{"10", "10", "10", "20", "20", "20"},
			"commit 3", []string{"commit 3"}, 1, "builds the same program"},
		{"one that does not build", []string{"10", "broken", "10", "20", "20.01"}, "commit 3", []string{"commit 3"}, 2, "commit 3"},
		{"next to one that does not build", []string{"10", "broken", "20"}, "", []string{"commit 1", "commit 2"}, 1, "not decided"},
		{"next to one that crashes, and one that is noisy", []string{"10", "crash", "noise", "20"},
			"", []string{"commit 1", "commit 2", "commit 3"}, 3, "not decided"},
		{"nothing to find", []string{"10", "20", "10.1"}, "", nil, 1, "does not miss the gate"},
		{"the end is noisy", []string{"10", "20", "noise"}, "", nil, 1, "not known whether"},
		{"the next one", []string{"10", "20"}, "commit 1", []string{"commit 1"}, 1, "commit 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, good := made(t, tt.texts)
			found, err := x.find(t.Context(), good)
			if err != nil {
				t.Fatal(err)
			}
			var suspects []string
			for _, c := range found.Suspects {
				suspects = append(suspects, c.Subject)
			}
			if !slices.Equal(suspects, tt.suspects) || x.measured != tt.measured || !strings.Contains(found.Answer, tt.answer) {
				t.Errorf("suspects %v after %d measurements: %s; want %v after %d", suspects, x.measured, found.Answer, tt.suspects, tt.measured)
			}
			if (found.First == nil) != (tt.first == "") || found.First != nil && found.First.Subject != tt.first {
				t.Errorf("first %+v, want %q", found.First, tt.first)
			}
			var out bytes.Buffer
			if err := found.print(&out); err != nil || !strings.Contains(out.String(), found.Answer) {
				t.Errorf("printed %v\n%s", err, out.String())
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	repository(t, costly("10"), costly("20"))
	s := source(t)
	gate := compare.Gate{Metric: compare.MetricCPU, Op: "<=", Bound: 1.1}
	never := func(context.Context, *scenario.Scenario, int) (*compare.Comparison, string, error) {
		t.Error("something was measured")
		return nil, "", nil
	}
	for _, tt := range []struct{ good, bad, want string }{
		{"nowhere", "HEAD", "no revision"}, {"HEAD", "HEAD~1", "exchange them"}, {"HEAD", "HEAD", "no commit after"}, {"HEAD", ".", "searches commits"},
	} {
		if _, err := s.Find(t.Context(), tt.good, tt.bad, gate, never); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s to %s: %v, want %q", tt.good, tt.bad, err, tt.want)
		}
	}
}

// A pair is built from two revisions; the folder as it is now is one.
func TestPair(t *testing.T) {
	repository(t, costly("10"), costly("20"), costly("20"))
	s := source(t)
	p, err := s.Pair(t.Context(), "main~1", "main")
	if err != nil {
		t.Fatal(err)
	}
	if !p.Same() || p.Report(compare.MetricWork).Comparison.Verdict != compare.Equal {
		t.Errorf("the same source builds %+v", p)
	}
	if err := os.WriteFile("server/main.go", []byte(costly("30")), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = s.Pair(t.Context(), "", ""); err != nil || p.Same() || p.B.Title() != "folder" {
		t.Fatalf("HEAD against the folder: %+v, %v", p, err)
	}
	names := []string{}
	for _, v := range p.Scenario.Variants {
		out, err := exec.Command(v.Command[0]).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimSpace(string(out)))
		if _, err := os.Stat(filepath.Join(v.Dir, "server")); err != nil {
			t.Errorf("%s does not run in its own files: %v", v.Name, err)
		}
	}
	if !slices.Equal(names, []string{"20", "30"}) {
		t.Errorf("the programs print %v", names)
	}
	for _, same := range [][2]string{{"main", "HEAD"}, {".", "."}} {
		if _, err := s.Pair(t.Context(), same[0], same[1]); err == nil || !strings.Contains(err.Error(), "two different revisions") {
			t.Errorf("%v: %v", same, err)
		}
	}
}

func TestWanted(t *testing.T) {
	repository(t, costly("10"))
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("s.yaml", "name: s\nslo: p99=20ms\ntarget: {build: ./server}\nload: {url: \"http://${target.listen}/\"}\nvariants: [{name: old}, {name: new}]\nmode: compare\n")
	write("record/experiment.json", "{}")
	for _, tt := range []struct {
		arg, a, b string
		want      bool
	}{
		{"./server", "", "", true}, {"./server", "main", ".", true}, {"record", "old", "new", false}, {"s.yaml", "", "", false},
		{"s.yaml", "old", "new", false}, {"s.yaml", "main", ".", true}, {"s.yaml", "old", "main", true}, {"http://127.0.0.1/", "a", "b", false}, {"none.yaml", "a", "", false},
	} {
		if got := Wanted(tt.arg, tt.a, tt.b); got != tt.want {
			t.Errorf("%s --a %s --b %s: %v", tt.arg, tt.a, tt.b, got)
		}
	}
}

// A result appears when it is complete; what cannot be written is an error, and the old one stays.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	f := &Found{Schema: Schema, Answer: "the first commit is x"}
	if err := f.keep(filepath.Join(dir, "absent")); err != nil {
		t.Errorf("of a search that measured nothing: %v", err)
	}
	if err := f.keep(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if b, _ := os.ReadFile(filepath.Join(dir, File)); err != nil || len(entries) != 1 || !bytes.Contains(b, []byte(f.Answer)) {
		t.Errorf("%v: %s", entries, b)
	}
	if err := os.Mkdir(filepath.Join(dir, File+".tmp"), 0o755); err != nil { // as if there were no space
		t.Fatal(err)
	}
	if err := f.keep(dir); err == nil {
		t.Error("what could not be written is no error")
	}
	if _, err := os.ReadFile(filepath.Join(dir, File)); err != nil {
		t.Errorf("the result before is lost: %v", err)
	}
}
