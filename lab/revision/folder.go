package revision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Folder is a folder of a revision's files, of which paths behave as in the repository: it is below
// a copy of the repository's own path, and what go.mod and go.work name beside the repository is
// linked there. Those of all revisions are equally deep, and their paths equally long.
type Folder struct {
	Dir string
	// Env is what the go command needs to find the workspace there.
	Env []string
	// Outside are the folders outside the revision's files that go.mod or go.work name, and its
	// submodules, but not those in another of them: whatever the revision, they are as they are now.
	Outside []string
	// Workspace is the go.work that the revision does not have and that applies nevertheless: one that
	// git does not know, or above the repository. Empty: none does.
	Workspace string
}

// here stands for the hash of the folder as it is now, and is as long as one.
var here = strings.Repeat("0", 40)

// base is the folder below which the files of a revision have the path of the repository.
func (r *Repository) base(rev Revision) string {
	return filepath.Join(r.temp, cmp.Or(rev.Hash, here), "files")
}

// Folder returns the folder of a revision's files that corresponds to a folder of the repository. For
// Here it has copies of the files that git knows or would add: not of what it ignores. It remains
// until Close.
func (r *Repository) Folder(ctx context.Context, rev Revision, dir string) (f Folder, err error) {
	inside, err := r.within(dir)
	if err != nil {
		return f, err
	}
	tree := filepath.Join(r.base(rev), r.root)
	if rev.Hash == "" {
		err = r.copyHere(ctx, tree)
	} else {
		err = r.checkOut(ctx, rev, tree)
	}
	if err != nil {
		return f, err
	}
	if f.Dir = filepath.Join(tree, inside); !isFolder(f.Dir) {
		return f, fmt.Errorf("%s has no folder %s", rev.Title(), inside)
	}
	p := place{r: r, base: r.base(rev), tree: tree, outside: map[string]bool{}}
	if err := p.submodules(ctx); err != nil {
		return f, err
	}
	if err := p.workspace(ctx, filepath.Join(r.root, inside), &f); err != nil {
		return f, err
	}
	for _, real := range slices.Sorted(maps.Keys(p.outside)) { // a folder comes before those in it
		if !isFolder(real) || slices.ContainsFunc(f.Outside, func(folder string) bool { return below(folder, real) && !below(folder, r.root) }) {
			continue // the go command says what is missing
		}
		f.Outside = append(f.Outside, real)
		if err := p.link(real); err != nil {
			return f, fmt.Errorf("linking %s, which go.mod or go.work names: %w", real, err)
		}
	}
	return f, nil
}

// place is where the files of a revision are. A path of the machine corresponds to the same path
// below base.
type place struct {
	r          *Repository
	base, tree string
	outside    map[string]bool // by real path
	fill       bool            // what a go.work names that is no part of the revision need not be one either
}

// inTree reports whether a path of the machine is in the repository.
func (p *place) inTree(path string) bool { return below(p.r.root, path) }

// below reports whether a path is a folder or lies in it, by its name.
func below(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// at is where the revision's own file of a path is: in the copy, or outside where it always is.
func (p *place) at(path string) string {
	if p.inTree(path) && !p.outside[filepath.Dir(path)] {
		return filepath.Join(p.base, path)
	}
	return path
}

// link makes a folder outside appear at its path below base. Of one that has the repository in it, each
// file and folder is linked, but for the repository.
func (p *place) link(real string) error {
	at := filepath.Join(p.base, real)
	switch {
	case !p.holds(filepath.Dir(at)):
		return nil // it is in what is linked
	case below(real, p.r.root):
		entries, err := os.ReadDir(real)
		for _, e := range entries {
			if path := filepath.Join(real, e.Name()); path != p.r.root {
				err = errors.Join(err, p.link(path))
			}
		}
		return err
	}
	info, err := os.Lstat(at)
	if err == nil && info.IsDir() && p.inTree(real) {
		os.Remove(at) // the empty folder of a submodule
	} else if err == nil {
		return nil // it is there, or has what is linked in it
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(real, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// holds reports whether a folder below base, or the nearest above it that exists, is below base when
// links are followed: what is written there is not written into the folder to which a link leads.
func (p *place) holds(dir string) bool {
	base, err := filepath.EvalSymlinks(p.base)
	if err != nil {
		return false
	}
	for ; below(p.base, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		return err == nil && below(base, real)
	}
	return false
}

// submodules finds the submodules that are checked out in the repository.
func (p *place) submodules(ctx context.Context) error {
	list, err := git(ctx, p.r.root, nil, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	const gitlink = "160000 "
	for entry := range strings.SplitSeq(list, "\x00") {
		if _, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(entry, gitlink) {
			real := filepath.Join(p.r.root, name)
			if _, err := os.Stat(filepath.Join(real, ".git")); err == nil && isFolder(filepath.Join(p.base, real)) {
				p.outside[real] = true
			}
		}
	}
	return nil
}

// workspace finds the go.work for a folder of the repository, copies one that the revision lacks,
// and notes what it or the folder's go.mod names outside.
func (p *place) workspace(ctx context.Context, dir string, f *Folder) error {
	const name = "go.work"
	file := ""
	switch set := os.Getenv("GOWORK"); set {
	case "off":
	case "":
		if own := above(p.at(dir), name); strings.HasPrefix(own, p.tree) {
			file = strings.TrimPrefix(own, p.base)
		} else if file = above(dir, name); file != "" && !p.foreign(ctx, file) {
			file = "" // the revision has none
		}
	default:
		file = set
		f.Env = []string{"GOWORK=" + filepath.Join(p.base, file)}
	}
	if file == "" {
		if mod := above(p.at(dir), "go.mod"); strings.HasPrefix(mod, p.tree) {
			p.module(strings.TrimPrefix(mod, p.base))
		}
		return nil
	}
	at := filepath.Join(p.base, file)
	if p.foreign(ctx, file) {
		if !p.holds(filepath.Dir(at)) {
			return fmt.Errorf("%s cannot be copied: its folder is a link in the revision; GOWORK=off leaves it out", file)
		}
		p.fill = true
		for _, suffix := range []string{"", ".sum"} {
			if err := os.Remove(at + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := copyFile(ctx, file+suffix, at+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
				return err
			}
		}
		f.Workspace = file
	}
	// What is missing or wrong with a file, the go command says.
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil
	}
	from := filepath.Dir(file)
	for _, use := range work.Use {
		p.note(from, use.Path)
		p.module(filepath.Join(resolve(from, use.Path), "go.mod"))
	}
	p.replaced(from, work.Replace)
	return nil
}

// foreign reports whether a go.work is not part of any revision: git does not know it, or it lies
// above the repository.
func (p *place) foreign(ctx context.Context, file string) bool {
	if !p.inTree(file) {
		return true
	}
	known, err := git(ctx, p.r.root, nil, "ls-files", "--", file)
	return err == nil && known == "" && isFile(file)
}

// module notes what a go.mod names outside.
func (p *place) module(file string) {
	text, err := os.ReadFile(p.at(file))
	if err != nil {
		return
	}
	if mod, err := modfile.Parse(file, text, nil); err == nil {
		p.replaced(filepath.Dir(file), mod.Replace)
	}
}

func (p *place) replaced(from string, all []*modfile.Replace) {
	for _, r := range all {
		if r.New.Version == "" {
			p.note(from, r.New.Path)
		}
	}
}

// note notes a path that a file in the folder from names, if it is outside: so is an absolute one,
// which means the same files whatever the revision, and with fill what the revision lacks.
func (p *place) note(from, path string) {
	real := resolve(from, path)
	if filepath.IsAbs(path) || !p.inTree(real) || p.fill && !isFolder(filepath.Join(p.base, real)) {
		p.outside[real] = true
	}
}

func resolve(from, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(from, filepath.FromSlash(path))
}

// above returns the path of the nearest file of a name in a folder or above it; empty: there is none.
func above(dir, name string) string {
	for {
		if file := filepath.Join(dir, name); isFile(file) {
			return file
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
