package stored

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A result of several runs is of modified code if one of them is, and has a commit if all have the same.
func TestBeside(t *testing.T) {
	made := func(commit string, modified bool) Made {
		return Made{Commit: commit, Modified: modified, Date: time.Now(), Others: new(0.1)}
	}
	for _, tt := range []struct{ now, before, want Made }{
		{made("a", false), Made{}, made("a", false)},
		{made("a", false), made("a", false), made("a", false)},
		{made("a", false), made("a", true), made("a", true)},
		{made("b", false), made("a", false), made("", false)},
		{made("b", false), made("", false), made("", false)},
	} {
		if got := tt.now.Beside(tt.before); got.Commit != tt.want.Commit || got.Modified != tt.want.Modified {
			t.Errorf("%+v beside %+v: %+v", tt.now, tt.before, got)
		}
	}
}

// A change of the working directory shows, also a file that git does not know.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if _, _, err := Tree(t.Context()); err == nil {
		t.Error("no repository, and no error")
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
	}
	commit, modified, err := Tree(t.Context())
	if err != nil || len(commit) < 8 || modified {
		t.Errorf("%q, %v, %v", commit, modified, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if again, modified, err := Tree(t.Context()); err != nil || again != commit || !modified {
		t.Errorf("%q, %v, %v", again, modified, err)
	}
}
