package revision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// mostSilent is the number of bytes up to which the folder as it is now is copied without a word.
	mostSilent = 1 << 30
	// copied is the number of bytes that are copied between two looks at whether to go on.
	copied = 64 << 20
)

// copyHere copies the files of the folder as it is now.
func (r *Repository) copyHere(ctx context.Context, tree string) (err error) {
	if isFolder(tree) {
		return nil
	}
	list, err := git(ctx, r.root, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("listing the files of %s: %w", r.root, err)
	}
	names, size, err := r.present(ctx, list)
	if err != nil {
		return err
	}
	if err := r.room(size); err != nil {
		return err
	}
	if size > mostSilent && r.Say != nil {
		r.Say(fmt.Sprintf("copying the folder as it is now, %s, to %s", gigabytes(size), r.temp))
	}
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tree) // an incomplete tree must not be built
		}
	}()
	for _, name := range names {
		if err := copyFile(ctx, filepath.Join(r.root, name), filepath.Join(tree, name)); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil && !isMissing(err) {
			return fmt.Errorf("copying %s of the folder as it is now: %w", name, err)
		}
	}
	return nil
}

// present returns those of the names that git lists that are in the folder now, each once, and their
// size in bytes. What git knows below a folder that is now a file or a link is not there: a link is copied
// as one. Of a merge with conflicts, git lists a name several times.
func (r *Repository) present(ctx context.Context, list string) (names []string, size uint64, err error) {
	folders := map[string]bool{".": true} // whether a path in the repository is a folder, and no link to one
	var isReal func(dir string) bool
	isReal = func(dir string) bool {
		real, ok := folders[dir]
		if !ok {
			info, err := os.Lstat(filepath.Join(r.root, dir))
			real = isReal(filepath.Dir(dir)) && err == nil && info.IsDir()
			folders[dir] = real
		}
		return real
	}
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, "\x00") {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		name = strings.TrimSuffix(name, "/") // another repository
		if name == "" || seen[name] || !isReal(filepath.Dir(name)) {
			continue
		}
		seen[name] = true
		info, err := os.Lstat(filepath.Join(r.root, name))
		switch {
		case err != nil && isMissing(err):
			continue
		case err != nil:
			return nil, 0, fmt.Errorf("copying %s of the folder as it is now: %w", name, err)
		case info.Mode().IsRegular():
			size += uint64(info.Size())
		}
		names = append(names, name)
	}
	return names, size, nil
}

// isMissing reports whether an error says that there is no such file: a folder in its path may be a file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// room returns an error if files of that size do not fit into the folder for temporary files.
func (r *Repository) room(size uint64) error {
	var s syscall.Statfs_t
	if syscall.Statfs(r.temp, &s) != nil {
		return nil // writing shows it
	}
	if free := uint64(s.Bavail) * uint64(s.Bsize); size > free {
		return fmt.Errorf("the folder as it is now has %s that git knows or would add, and %s has room for %s: set TMPDIR to a folder with more, or list in .gitignore what no test reads", gigabytes(size), filepath.Dir(r.temp), gigabytes(free))
	}
	return nil
}

func gigabytes(n uint64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

// copyFile copies a file or a symbolic link. A folder, which git lists for another repository, is
// made, and nothing else is copied.
func copyFile(ctx context.Context, from, to string) error {
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
	// From a file to a file, the kernel copies, and shares the blocks where the file system can.
	for left := info.Size(); left > 0 && err == nil && ctx.Err() == nil; left -= copied {
		_, err = io.CopyN(out, in, min(left, copied))
	}
	if errors.Is(err, io.EOF) { // it became shorter
		err = nil
	}
	return errors.Join(err, ctx.Err(), out.Close())
}
