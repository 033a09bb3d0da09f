package revision

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const program = "package main\n\nfunc main() { println(%) }\n"

// repository makes a git repository with a commit for each text of cmd/server/main.go.
func repository(t *testing.T, texts ...string) (dir string, commit func(text, subject string)) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir = t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	run := func(args ...string) {
		t.Helper()
		if _, err := git(t.Context(), dir, []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test"}, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "go.mod"), "module example.test/m\n\ngo 1.21\n")
	commit = func(text, subject string) {
		t.Helper()
		write(t, filepath.Join(dir, "cmd/server/main.go"), text)
		run("add", "-A")
		run("commit", "-q", "--allow-empty", "-m", subject)
	}
	for _, text := range texts {
		commit(text, "says "+text[strings.LastIndex(text, "println")+7:])
	}
	return dir, commit
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func says(what string) string { return strings.ReplaceAll(program, "%", `"`+what+`"`) }

func open(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := Open(t.Context(), filepath.Join(dir, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Each revision is built from its own files, even the folder as it is now, and the repository does
// not change.
func TestBuildRevisions(t *testing.T) {
	dir, commit := repository(t, says("one"), says("two"))
	commit("package main\n\nfunc main() { broken }\n", "does not build")
	commit(says("two"), "two again")
	write(t, filepath.Join(dir, "cmd/server/main.go"), says("changed"))
	status := func() string {
		out, err := git(t.Context(), dir, nil, "status", "--porcelain", "--branch")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := status()
	r := open(t, dir)
	sums := map[string]string{}
	for name, want := range map[string]string{"HEAD~2": "two\n", "main": "two\n", Here: "changed\n"} {
		rev, err := r.Resolve(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Build(t.Context(), rev, Package{Dir: filepath.Join(dir, "cmd/server"), Name: "."})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(p.Binary).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s says %q, %v; want %q", name, out, err, want)
		}
		sums[name] = p.Sum
	}
	if sums["HEAD~2"] != sums["main"] || sums["main"] == sums[Here] {
		t.Errorf("the same source has the same program, another has another: %v", sums)
	}
	broken, err := r.Resolve(t.Context(), "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	refused := new(BuildError)
	if _, err := r.Build(t.Context(), broken, Package{Dir: dir, Name: "./cmd/server"}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a revision that does not build: %v", err)
	}
	if _, err := r.Build(t.Context(), broken, Package{Dir: t.TempDir(), Name: "."}); err == nil || !strings.Contains(err.Error(), "not in the repository") {
		t.Errorf("a folder elsewhere: %v", err)
	}
	if after := status(); after != before {
		t.Errorf("the repository changed from\n%s\nto\n%s", before, after)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.temp); !os.IsNotExist(err) {
		t.Errorf("what was built is still there: %v", err)
	}
}

func TestBetween(t *testing.T) {
	dir, _ := repository(t, says("one"), says("two"), says("three"), says("four"))
	r := open(t, dir)
	good, err := r.Resolve(t.Context(), "main~3")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := r.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	line, err := r.Between(t.Context(), good, bad)
	if err != nil {
		t.Fatal(err)
	}
	if len(line) != 3 || line[2].Hash != bad.Hash || !strings.Contains(line[0].Subject, "two") || line[0].Merge {
		t.Errorf("%+v", line)
	}
	if _, err := r.Between(t.Context(), bad, good); err == nil || !strings.Contains(err.Error(), "exchange them") {
		t.Errorf("backwards: %v", err)
	}
}

func TestResolveRefuses(t *testing.T) {
	dir, _ := repository(t, says("one"))
	r := open(t, dir)
	for _, name := range []string{"", "--upload-pack=x", "nowhere", "main:cmd", "a\x00b"} {
		if rev, err := r.Resolve(t.Context(), name); err == nil {
			t.Errorf("%q was resolved to %+v", name, rev)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(cancelled, "main"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Open(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "git repository") {
		t.Errorf("outside a repository: %v", err)
	}
}

func TestTitle(t *testing.T) {
	hash := strings.Repeat("0123456789", 4)
	for _, tt := range []struct{ name, hash, want string }{{"main", hash, "main@0123456789"}, {"0123456", hash, "0123456789"}, {Here, "", "folder"}} {
		if got := (Revision{Name: tt.name, Hash: tt.hash}).Title(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add("0123456789abcdef\x001700000000\x00aa bb\x00subject\n")
	f.Add("\x00\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		revisions, err := parseLog(text)
		for _, r := range revisions {
			if err == nil && len(r.Short()) != shortHash {
				t.Errorf("%q", r.Hash)
			}
		}
	})
}
