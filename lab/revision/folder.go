package revision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	// submodules: whatever the revision, they are as they are now.
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
	f.Outside = slices.Sorted(maps.Keys(p.outside)) // a folder comes before those in it
	for _, real := range f.Outside {
		if err := p.link(real); err != nil {
			return f, err
		}
	}
	return f, nil
}

// copyHere copies the files of the folder as it is now.
func (r *Repository) copyHere(ctx context.Context, tree string) error {
	if isFolder(tree) {
		return nil
	}
	list, err := git(ctx, r.root, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("listing the files of %s: %w", r.root, err)
	}
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	for name := range strings.SplitSeq(list, "\x00") {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == "" {
			continue
		}
		if err := copyFile(filepath.Join(r.root, name), filepath.Join(tree, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			os.RemoveAll(tree) // an incomplete tree must not be built
			return fmt.Errorf("copying %s of the folder as it is now: %w", name, err)
		}
	}
	return nil
}

// copyFile copies a file or a symbolic link. A folder, which git lists for another repository, is
// made, and nothing else is copied.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return os.MkdirAll(to, 0o755)
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !mode.IsRegular():
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// place is where the files of a revision are. A path of the machine corresponds to the same path
// below base.
type place struct {
	r          *Repository
	base, tree string
	outside    map[string]bool // by real path
}

// inTree reports whether a path of the machine is in the repository.
func (p *place) inTree(path string) bool {
	rel, err := filepath.Rel(p.r.root, path)
	return err == nil && filepath.IsLocal(rel)
}

// at is where the revision's own file of a path is: in the copy, or outside where it always is.
func (p *place) at(path string) string {
	if p.inTree(path) {
		return filepath.Join(p.base, path)
	}
	return path
}

// link makes a folder outside appear at its path below base.
func (p *place) link(real string) error {
	at := filepath.Join(p.base, real)
	info, err := os.Lstat(at)
	if err == nil && info.IsDir() && p.inTree(real) {
		os.Remove(at) // the empty folder of a submodule
	} else if err == nil {
		return nil // it is in a folder that is linked, or has the tree in it
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return nil // below another link: nothing is written there
	}
	if err := os.Symlink(real, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
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
		for _, suffix := range []string{"", ".sum"} {
			if err := os.Remove(at + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := copyFile(file+suffix, at+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
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
// which means the same files whatever the revision.
func (p *place) note(from, path string) {
	if real := resolve(from, path); filepath.IsAbs(path) || !p.inTree(real) {
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
