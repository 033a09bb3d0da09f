// Command release sets the module path of this repository and makes its releases; the targets
// module, release and proof of the Makefile call it. It rewrites module paths in every file, makes
// the commit and the tags of a release, and installs the programs from a release as users do.
//
// It is not for building archives, which .goreleaser.yaml describes, and it pushes nothing. It
// starts no goroutines.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

const usage = `usage, in a clone:
  go run ./deploy/release module example.com/acme/dyno   rewrite the module path everywhere
  go run ./deploy/release tag v0.1.0                     make the commit and the tags of a release
  go run ./deploy/release prove v0.1.0 [PROGRAM ...]     install the tagged programs as users do`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "module":
		return rename(".", args[1])
	case len(args) == 2 && args[0] == "tag":
		return tag(".", args[1])
	case len(args) >= 2 && args[0] == "prove":
		return prove(".", args[1], args[2:])
	}
	return errors.New(usage)
}

// programs are the commands that users install, by their folder.
var programs = []string{"cmd/dyno", "services/cmd/notifyd", "services/cmd/ordersd", "services/ledger/cmd/ledgersync", "services/chain/cmd/chaind", "services/cmd/arenad"}

// modulePath returns the path in the go.mod at the root of a clone, the one place that sets it.
func modulePath(clone string) (string, error) {
	text, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("this is not the root of a clone: %w", err)
	}
	path := modfile.ModulePath(text)
	if path == "" {
		return "", errors.New("go.mod has no line module")
	}
	return path, nil
}

// committed refuses a clone with changes: the difference to the last commit must be all that a
// rewriting did, and a tag must name what was tested.
func committed(clone string) error {
	changes, err := output(clone, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes = strings.TrimRight(changes, "\n"); changes != "" {
		first, _, _ := strings.Cut(changes, "\n")
		return fmt.Errorf("%d files have changes that are not committed, %s the first: commit or stash them", 1+strings.Count(changes, "\n"), strings.TrimSpace(first[2:]))
	}
	return nil
}

// tracked lists the files of a clone.
func tracked(clone string) ([]string, error) {
	list, err := output(clone, nil, "git", "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(list, "\x00"), "\x00"), nil
}

// goMods returns the go.mod files among files that belong to the repository's modules; those below
// testdata are inputs of tests.
func goMods(files []string) (mods []string) {
	for _, f := range files {
		if filepath.Base(f) == "go.mod" && !strings.Contains("/"+f, "/testdata/") {
			mods = append(mods, f)
		}
	}
	return mods
}

// output runs a command in a folder, with these variables on top of the environment, and returns
// its stdout; its stderr is in the error.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
