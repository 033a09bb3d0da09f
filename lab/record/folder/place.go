package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Place is a path at which a folder may be made.
type Place struct {
	dir  string
	made []string // the folder and those above it that did not exist, from the inside out
}

// Claim checks that a folder is absent or empty.
func Claim(dir string) (Place, error) {
	p := Place{dir: dir}
	entries, err := os.ReadDir(dir)
	switch {
	case len(entries) > 0:
		return p, fmt.Errorf("%s is not empty; name another folder with --out", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return p, fmt.Errorf("%s is a file, or in one; name a folder with --out", dir)
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil || at == filepath.Dir(at) {
			return p, nil
		}
		p.made = append(p.made, at)
	}
}

// Leave removes what was made at the path since Claim: the folder with everything in it, and the
// folders above it that are empty. What existed before stays.
func (p Place) Leave() error {
	if len(p.made) == 0 { // the folder was there, and empty
		entries, err := os.ReadDir(p.dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.dir, e.Name())))
		}
		return err
	}
	err := os.RemoveAll(p.made[0])
	for _, above := range p.made[1:] {
		os.Remove(above) // fails if it has something else in it
	}
	return err
}
