package revision

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders returns the folders of the last commit and of the folder as it is now.
func folders(t *testing.T, dir string) (a, b Folder) {
	t.Helper()
	r := open(t, dir)
	for name, f := range map[string]*Folder{"HEAD": &a, Here: &b} {
		rev, err := r.Resolve(t.Context(), name)
		if err == nil {
			*f, err = r.Folder(t.Context(), rev, dir)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// goRun runs the go command in a folder, with nothing of the network.
func goRun(t *testing.T, f Folder, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = f.Dir
	cmd.Env = append(append(os.Environ(), "GOPROXY=off", "GOFLAGS="), f.Env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// The folder as it is now is a copy, at a path as long as that of a commit, without what git ignores.
func TestFolderIsACopy(t *testing.T) {
	dir, commit := repository(t, says("one"))
	write(t, filepath.Join(dir, ".gitignore"), "ignored\n")
	write(t, filepath.Join(dir, "deep/testdata/x"), "committed")
	if err := os.Symlink("x", filepath.Join(dir, "deep/testdata/link")); err != nil {
		t.Fatal(err)
	}
	commit(says("one"), "more files")
	write(t, filepath.Join(dir, "deep/testdata/x"), "changed")
	write(t, filepath.Join(dir, "new"), "new")
	write(t, filepath.Join(dir, "ignored"), "large")
	if err := errors.Join(os.Remove(filepath.Join(dir, "cmd/server/main.go")), os.Chmod(filepath.Join(dir, "new"), 0o555)); err != nil {
		t.Fatal(err)
	}
	a, b := folders(t, dir)
	if len(a.Dir) != len(b.Dir) || a.Dir == b.Dir || strings.HasPrefix(b.Dir, dir) {
		t.Errorf("%s and %s", a.Dir, b.Dir)
	}
	for file, want := range map[string][2]string{"deep/testdata/x": {"committed", "changed"}, "deep/testdata/link": {"committed", "changed"}, "new": {"", "new"}, "ignored": {"", ""}, "cmd/server/main.go": {says("one"), ""}} {
		for i, f := range []Folder{a, b} {
			if text, _ := os.ReadFile(filepath.Join(f.Dir, file)); string(text) != want[i] {
				t.Errorf("%s in %s: %q, want %q", file, f.Dir, text, want[i])
			}
		}
	}
	if info, err := os.Stat(filepath.Join(b.Dir, "new")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if len(a.Outside)+len(b.Outside) > 0 || a.Workspace+b.Workspace != "" {
		t.Errorf("%+v, %+v", a, b)
	}
}

// Modules beside the repository are found from the folders of all revisions, and named.
func TestModulesOutside(t *testing.T) {
	top := t.TempDir()
	dir, commit := repository(t, says("one"))
	moved := filepath.Join(top, "src/m")
	if err := errors.Join(os.MkdirAll(filepath.Dir(moved), 0o755), os.Rename(dir, moved)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, dir); err != nil { // commit still writes there
		t.Fatal(err)
	}
	const uses = "package main\n\nimport \"example.test/lib\"\n\nfunc main() { println(lib.Name) }\n"
	write(t, filepath.Join(top, "lib/go.mod"), "module example.test/lib\n\ngo 1.21\n")
	write(t, filepath.Join(top, "lib/lib.go"), "package lib\n\nconst Name = \"beside\"\n")
	runs := func(what string, f Folder) {
		t.Helper()
		if out, err := goRun(t, f, "run", "./cmd/server"); err != nil || out != "beside" {
			t.Errorf("%s in %s: %q, %v", what, f.Dir, out, err)
		}
	}
	lib := filepath.Join(top, "lib")

	write(t, filepath.Join(dir, "go.mod"), "module example.test/m\n\ngo 1.21\n\nrequire example.test/lib v1.0.0\n\nreplace example.test/lib => ../../lib\n")
	commit(uses, "replace")
	a, b := folders(t, moved)
	for _, f := range []Folder{a, b} {
		if runs("replace", f); !slices.Equal(f.Outside, []string{lib}) || f.Workspace != "" {
			t.Errorf("%+v", f)
		}
	}

	// A workspace above the repository.
	write(t, filepath.Join(dir, "go.mod"), "module example.test/m\n\ngo 1.21\n\nrequire example.test/lib v1.0.0\n")
	commit(uses, "workspace")
	above := filepath.Join(top, "go.work")
	write(t, above, "go 1.21\n\nuse (\n\t./lib\n\t./src/m\n)\n")
	a, b = folders(t, moved)
	for _, f := range []Folder{a, b} {
		if runs("go.work above", f); !slices.Equal(f.Outside, []string{lib}) || f.Workspace != above {
			t.Errorf("%+v", f)
		}
	}

	// One that is not committed, and ignored.
	if err := os.Rename(above, above+".off"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".gitignore"), "go.work\n")
	commit(uses, "ignore")
	write(t, filepath.Join(dir, "go.work"), "go 1.21\n\nuse (\n\t.\n\t../../lib\n)\n")
	a, b = folders(t, moved)
	for _, f := range []Folder{a, b} {
		if runs("go.work ignored", f); !slices.Equal(f.Outside, []string{lib}) || f.Workspace != filepath.Join(moved, "go.work") {
			t.Errorf("%+v", f)
		}
	}

	// One that GOWORK names.
	named := filepath.Join(top, "src/my.work")
	if err := os.Rename(filepath.Join(dir, "go.work"), named); err != nil {
		t.Fatal(err)
	}
	write(t, named, "go 1.21\n\nuse (\n\t./m\n\t../lib\n)\n")
	t.Setenv("GOWORK", named)
	a, b = folders(t, moved)
	for _, f := range []Folder{a, b} {
		if runs("GOWORK", f); !slices.Equal(f.Outside, []string{lib}) || f.Workspace != named || len(f.Env) != 1 {
			t.Errorf("%+v", f)
		}
	}
	t.Setenv("GOWORK", "off")
	if a, _ := folders(t, moved); a.Workspace != "" || len(a.Env) > 0 {
		t.Errorf("GOWORK=off: %+v", a)
	}
}

// A committed workspace is that of each revision.
func TestCommittedWorkspace(t *testing.T) {
	dir, commit := repository(t, says("one"))
	write(t, filepath.Join(dir, "go.work"), "go 1.21\n\nuse .\n")
	commit(says("one"), "workspace")
	a, b := folders(t, dir)
	for _, f := range []Folder{a, b} {
		if out, err := goRun(t, f, "env", "GOWORK"); err != nil || !strings.HasSuffix(out, filepath.Join(dir, "go.work")) || out == filepath.Join(dir, "go.work") || f.Workspace != "" || len(f.Outside) > 0 {
			t.Errorf("%s, %v, %+v", out, err, f)
		}
	}
	if err := os.Remove(filepath.Join(dir, "go.work")); err != nil {
		t.Fatal(err)
	}
	a, b = folders(t, dir)
	if out, err := goRun(t, b, "env", "GOWORK"); err != nil || out != "" {
		t.Errorf("removed: %s, %v, %+v", out, err, a)
	}
}

// A submodule is on both sides what it is in the folder.
func TestSubmodule(t *testing.T) {
	inner, _ := repository(t, says("inner"))
	dir, commit := repository(t, says("outer"))
	if _, err := git(t.Context(), dir, nil, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "data/sub"); err != nil {
		t.Fatal(err)
	}
	commit(says("outer"), "submodule")
	a, b := folders(t, dir)
	for _, f := range []Folder{a, b} {
		text, err := os.ReadFile(filepath.Join(f.Dir, "data/sub/cmd/server/main.go"))
		if err != nil || string(text) != says("inner") || !slices.Equal(f.Outside, []string{filepath.Join(dir, "data/sub")}) {
			t.Errorf("%q, %v, %+v", text, err, f)
		}
	}
}
