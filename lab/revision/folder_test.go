package revision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Trees that a merge or a move leaves behind are copied as they are.
func TestUnusualTrees(t *testing.T) {
	outside := t.TempDir()
	for name, tt := range map[string]struct{ script, file, want string }{
		"conflict":             {"git checkout -q -b x; echo 1 >f; git add f; git commit -qm x; git checkout -q -; echo 2 >f; git add f; git commit -qm y; git merge -q x; printf resolved >f", "f", "resolved"},
		"folder to file":       {"rm -r d; printf file >d", "d", "file"},
		"folder to link":       {"mv d e; ln -s e d; printf moved >e/x", "d/x", "moved"},
		"folder to outside":    {"rm -r d; ln -s " + outside + " d", "d/x", ""},
		"folder above to file": {"rm -r deep; printf file >deep", "deep", "file"},
		"file to folder":       {"rm f0; mkdir f0; printf inside >f0/x", "f0/x", "inside"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, commit := repository(t, says("one"))
			for _, file := range []string{"d/x", "deep/er/x", "f0"} {
				write(t, filepath.Join(dir, file), "committed")
			}
			commit(says("one"), "more files")
			shell(t, dir, tt.script)
			a, b := folders(t, dir)
			if text, _ := os.ReadFile(filepath.Join(b.Dir, tt.file)); string(text) != tt.want {
				t.Errorf("%s: %q, want %q", tt.file, text, tt.want)
			}
			if text, _ := os.ReadFile(filepath.Join(a.Dir, "d/x")); string(text) != "committed" {
				t.Errorf("the commit has %q", text)
			}
		})
	}
	if files := list(t, outside); len(files) > 1 {
		t.Errorf("written outside: %v", files)
	}
}

// shell runs commands in a folder; that one fails is part of a case.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %s, %v", script, out, err)
	}
}

// list lists everything in a folder.
func list(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A copy ends when it is interrupted, also within a file, and is not begun where it does not fit.
func TestCopyIsBounded(t *testing.T) {
	dir, _ := repository(t, says("one"))
	file := filepath.Join(dir, "go.mod")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := copyFile(stopped, file, filepath.Join(dir, "copy")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := copyFile(t.Context(), file, filepath.Join(dir, "copy2")); err != nil {
		t.Error(err)
	}
	r := open(t, dir)
	_, size, err := r.present(t.Context(), "go.mod\x00go.mod\x00gone\x00go.mod/x\x00")
	if info, _ := os.Stat(file); err != nil || size != uint64(info.Size()) {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := r.room(size); err != nil {
		t.Error(err)
	}
	if err := r.room(1 << 60); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("no room: %v", err)
	}
}

// beside returns a repository at m in a new folder, in which files are beside it.
func beside(t *testing.T, source string, files map[string]string) (top, repo string, commit func(text, subject string)) {
	t.Helper()
	top = t.TempDir()
	dir, commit := repository(t, source)
	repo = filepath.Join(top, "m")
	if err := errors.Join(os.Rename(dir, repo), os.Symlink(repo, dir)); err != nil { // commit still writes there
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(top, name), text)
	}
	return top, repo, commit
}

// Nothing is written into a folder outside, whatever its go.mod names that is not there.
func TestOutsideIsOnlyRead(t *testing.T) {
	top, repo, commit := beside(t, says("one"), map[string]string{
		"lib/go.mod": "module example.test/lib\n\ngo 1.21\n\nreplace example.test/gone => ./gone\n\nreplace example.test/deep => ./gen/deep\n",
		"lib/lib.go": "package lib\n",
		"go.work":    "go 1.21\n\nuse (\n\t./lib\n\t./m\n)\n",
	})
	commit(says("one"), "x")
	before := list(t, top)
	a, b := folders(t, repo)
	for _, f := range []Folder{a, b} {
		if out, err := goRun(t, f, "run", "./cmd/server"); err != nil || out != "one" || !slices.Equal(f.Outside, []string{filepath.Join(top, "lib")}) {
			t.Errorf("%q, %v, %+v", out, err, f)
		}
	}
	if after := list(t, top); !slices.Equal(before, after) {
		t.Errorf("before:\n%v\nafter:\n%v", before, after)
	}
}

// What a workspace names is found also where it has the repository in it, where git ignores it, and
// whatever its name.
func TestModulesAround(t *testing.T) {
	const uses = "package main\n\nimport lib \"example.test/%s\"\n\nfunc main() { println(lib.Name) }\n"
	runs := func(t *testing.T, repo string, outside ...string) {
		t.Helper()
		a, b := folders(t, repo)
		for _, f := range []Folder{a, b} {
			if out, err := goRun(t, f, "run", "./cmd/server"); err != nil || out != "beside" || !slices.Equal(f.Outside, outside) {
				t.Errorf("%q, %v, %+v", out, err, f)
			}
		}
	}
	t.Run("index", func(t *testing.T) {
		top, repo, commit := beside(t, says("one"), map[string]string{
			"index/go.mod": "module example.test/index\n\ngo 1.21\n",
			"index/lib.go": "package index\n\nconst Name = \"beside\"\n",
			"m/go.mod":     "module example.test/m\n\ngo 1.21\n\nrequire example.test/index v1.0.0\n\nreplace example.test/index => ../index\n",
		})
		commit(fmt.Sprintf(uses, "index"), "replace")
		runs(t, repo, filepath.Join(top, "index"))
	})
	t.Run("above", func(t *testing.T) {
		top, repo, commit := beside(t, says("one"), map[string]string{
			"go.mod":     "module example.test/top\n\ngo 1.21\n",
			"lib/lib.go": "package lib\n\nconst Name = \"beside\"\n",
			"go.work":    "go 1.21\n\nuse (\n\t.\n\t./m\n)\n",
		})
		commit(fmt.Sprintf(uses, "top/lib"), "workspace")
		before := list(t, top)
		if runs(t, repo, top); !slices.Equal(before, list(t, top)) {
			t.Errorf("now there is %v", list(t, top))
		}
	})
	t.Run("ignored", func(t *testing.T) {
		_, repo, commit := beside(t, says("one"), map[string]string{"m/.gitignore": "go.work\nlocal/\n"})
		commit(fmt.Sprintf(uses, "lib"), "ignore")
		write(t, filepath.Join(repo, "local/lib/go.mod"), "module example.test/lib\n\ngo 1.21\n")
		write(t, filepath.Join(repo, "local/lib/lib.go"), "package lib\n\nconst Name = \"beside\"\n")
		write(t, filepath.Join(repo, "go.work"), "go 1.21\n\nuse (\n\t.\n\t./local/lib\n)\n")
		runs(t, repo, filepath.Join(repo, "local/lib"))
	})
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
