package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is deploy/action/action.yml, parsed as GitHub does it.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
		Required    bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, Shell, Run, If string
			Env                  map[string]string
		}
	}
}

func readAction(t *testing.T) (a action, text string) {
	t.Helper()
	b, err := os.ReadFile("../../deploy/action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 || len(a.Inputs) == 0 {
		t.Fatalf("not a composite action: %+v", a)
	}
	return a, string(b)
}

// The inputs are documented and used, the scripts are valid, and the flags in the scripts exist.
func TestAction(t *testing.T) {
	a, text := readAction(t)
	page, err := os.ReadFile("../../docs/how-to/compare-revisions.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range a.Inputs {
		if in.Description == "" || !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the input %s has no description, or is not in docs/how-to/compare-revisions.md", name)
		}
		if !strings.Contains(text, "inputs."+name+" ") {
			t.Errorf("the input %s is not used", name)
		}
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		if _, ok := a.Inputs[m[1]]; !ok {
			t.Errorf("there is no input %s", m[1])
		}
	}
	flags := newCompare().Flags()
	for _, step := range a.Runs.Steps {
		if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("%s: a script of bash takes inputs from its environment only: an expression in it would run what a branch is called", step.Name)
		}
		if out, err := exec.Command("bash", "-n", "-c", step.Run).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", step.Name, err, out)
		}
		for _, m := range regexp.MustCompile(`"--([a-z-]+)=`).FindAllStringSubmatch(step.Run, -1) {
			if flags.Lookup(m[1]) == nil {
				t.Errorf("%s: dyno compare has no flag --%s", step.Name, m[1])
			}
		}
	}
}

// The scripts of the action pass inputs on as words, without evaluating them, write the verdict
// into the summary, and update an existing comment.
func TestActionRuns(t *testing.T) {
	a, _ := readAction(t)
	dir := t.TempDir()
	program := func(name, script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("dyno", `printf '%s\n' "$@" > "$RUNNER_TEMP/called"
for a in "$@"; do case "$a" in --markdown=*) echo "**Gate** fail" > "${a#--markdown=}";; esac; done
exit 3`)
	program("gh", `printf '%s\n' "$*" >> "$RUNNER_TEMP/gh-called"; case "$*" in *--paginate*) echo 77;; esac`)
	given := map[string]string{"command": "compare", "target": "./cmd/my server", "a": "main", "b": "HEAD", "gate": "work>=0.9", "args": "-addr 127.0.0.1:0 $(touch hacked)",
		"env": "A=1\nB=two words", "flags": "--quick --connections 16", "name": "dyno"}
	folder := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "output"))
		_, path, _ := strings.Cut(strings.TrimSpace(string(b)), "folder=")
		return path
	}
	expression := regexp.MustCompile(`\$\{\{ *([a-z.-]+(?:_request\.number)?) *\}\}`)
	run := func(name string) (string, error) {
		t.Helper()
		for _, step := range a.Runs.Steps {
			if step.Name != name {
				continue
			}
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", step.Run)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "RUNNER_TEMP="+dir, "GITHUB_REPOSITORY=o/r",
				"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"), "GITHUB_OUTPUT="+filepath.Join(dir, "output"))
			for key, value := range step.Env {
				value = expression.ReplaceAllStringFunc(value, func(e string) string {
					switch e = strings.Trim(e, "${} "); {
					case strings.HasPrefix(e, "inputs."):
						return given[strings.TrimPrefix(e, "inputs.")]
					case e == "steps.compare.outputs.folder":
						return folder()
					case e == "steps.compare.outputs.exit-code":
						return "3"
					}
					return "5"
				})
				cmd.Env = append(cmd.Env, key+"="+value)
			}
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		t.Fatalf("there is no step %s", name)
		return "", nil
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, step := range []string{"Compare", "Comment"} {
		if out, err := run(step); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	called := strings.Split(strings.TrimSpace(read("called")), "\n")
	for _, want := range []string{"compare", "./cmd/my server", "--a=main", "--gate=work>=0.9", "--args=-addr 127.0.0.1:0 $(touch hacked)", "--env=A=1", "--env=B=two words", "--quick", "--connections", "16"} {
		if !slices.Contains(called, want) {
			t.Errorf("dyno was called without %q: %q", want, called)
		}
	}
	if slices.ContainsFunc(called, func(a string) bool { return strings.HasPrefix(a, "--slo") }) {
		t.Errorf("an input that was not given is passed: %q", called)
	}
	if read("summary") != "**Gate** fail\n" || !strings.Contains(read("output"), "exit-code=3\n") {
		t.Errorf("summary %q, outputs %q", read("summary"), read("output"))
	}
	if got := read("gh-called"); !strings.Contains(got, "--method PATCH repos/o/r/issues/comments/77 -F body=@") || strings.Contains(got, "POST") {
		t.Errorf("gh was called with\n%s", got)
	}
	if got := read(filepath.Base(folder()) + "/comment.md"); got != "<!-- dyno compare: dyno -->\n**Gate** fail\n" {
		t.Errorf("the comment is %q", got)
	}
	given = map[string]string{"command": "bench", "target": "./codec ./pkg/...", "a": "main", "b": "HEAD", "gate": "ns/op<=1.05,allocs/op<=1", "flags": "--budget 90s", "name": "dyno"}
	if out, err := run("Compare"); err != nil {
		t.Fatalf("bench: %v\n%s", err, out)
	}
	called = strings.Split(strings.TrimSpace(read("called")), "\n")
	for _, want := range []string{"bench", "./codec", "./pkg/...", "--a=main", "--b=HEAD", "--gate=ns/op<=1.05,allocs/op<=1", "--budget", "90s"} {
		if !slices.Contains(called, want) {
			t.Errorf("dyno was called without %q: %q", want, called)
		}
	}
	for _, a := range called {
		if name, _, ok := strings.Cut(strings.TrimPrefix(a, "--"), "="); ok && strings.HasPrefix(a, "--") && newBench().Flags().Lookup(name) == nil {
			t.Errorf("dyno bench has no flag %s", a)
		}
	}
	if _, err := run("Verdict"); err == nil || err.(*exec.ExitError).ExitCode() != 3 {
		t.Errorf("the job ends with %v, want the exit code 3", err)
	}
}
