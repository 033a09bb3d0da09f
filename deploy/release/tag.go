package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// unpublished is the version of the repository's modules in its own go.mod files between releases,
// where replace directives lead to their folders.
const unpublished = "v0.0.0"

// tag makes a release: a commit on top of HEAD whose go.mod files require the modules at the
// version and replace and exclude nothing, as go install demands, and a tag for each module. The
// commit is on no branch, and the working tree stays as it is.
func tag(clone, version string) error {
	modPath, err := checkRelease(clone, version)
	if err != nil {
		return err
	}
	if err := committed(clone); err != nil {
		return err
	}
	files, err := tracked(clone)
	if err != nil {
		return err
	}
	mods := goMods(files)
	tags := tagsOf(mods, version)
	if taken, err := output(clone, nil, "git", append([]string{"tag", "--list"}, tags...)...); err != nil || taken != "" {
		return errors.Join(err, fmt.Errorf("there are tags of %s already; a published version cannot change, so take the next one", version))
	}
	temporary, err := os.MkdirTemp("", "dyno-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	tree := filepath.Join(temporary, "tree")
	if _, err := output(clone, nil, "git", "worktree", "add", "--quiet", "--detach", tree); err != nil {
		return err
	}
	defer output(clone, nil, "git", "worktree", "remove", "--force", tree)
	for _, name := range mods {
		if err := publish(filepath.Join(tree, name), modPath, version); err != nil {
			return err
		}
	}
	if _, err := output(tree, nil, "git", "commit", "--quiet", "--all", "--message", "release: require the modules at "+version); err != nil {
		return err
	}
	for _, name := range tags {
		if _, err := output(tree, nil, "git", "tag", "--annotate", "--message", name, name); err != nil {
			return err
		}
	}
	fmt.Printf("made %d tags. After make proof VERSION=%s:\n  git push origin %s\n", len(tags), version, strings.Join(tags, " "))
	return nil
}

// checkRelease returns the module path if the version can be released.
func checkRelease(clone, version string) (string, error) {
	if semver.Canonical(version) != version || semver.Compare(version, unpublished) <= 0 || semver.Major(version) > "v1" {
		return "", fmt.Errorf("%q is no version to release: it is like v0.1.0 or v1.2.3-rc.1, and below v2", version)
	}
	modPath, err := modulePath(clone)
	if err != nil {
		return "", err
	}
	if err := module.CheckPath(modPath); err != nil {
		return "", fmt.Errorf("%w: first set the path to which you will push, make module PATH=github.com/you/dyno, and commit", err)
	}
	return modPath, nil
}

// tagsOf returns the tag of each module: the folder before the version.
func tagsOf(mods []string, version string) (tags []string) {
	for _, name := range mods {
		tags = append(tags, path.Join(path.Dir(filepath.ToSlash(name)), version))
	}
	return tags
}

// publish rewrites a go.mod for a release.
func publish(file, modPath, version string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(file, text, nil)
	if err != nil {
		return err
	}
	for _, r := range f.Require {
		if r.Mod.Path == modPath || strings.HasPrefix(r.Mod.Path, modPath+"/") {
			if err := f.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
		}
	}
	for _, r := range f.Replace {
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	for _, e := range f.Exclude {
		if err := f.DropExclude(e.Mod.Path, e.Mod.Version); err != nil {
			return err
		}
	}
	f.Cleanup()
	return os.WriteFile(file, modfile.Format(f.Syntax), 0o644)
}
