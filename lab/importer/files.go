package importer

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Opener reads a file that an input names, such as @body.json.
type Opener func(name string) ([]byte, error)

// filesInside returns an Opener of the files in a folder and below it. No name or link leads out
// of the folder, since another program wrote the file that has the names.
func filesInside(folder string) Opener {
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		if info, err := root.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", name)
		}
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f, name, maxFile)
	}
}

// filesNextTo returns an Opener of files on this machine. A relative name counts from the folder
// of the input or, if nothing is there, from the current one, as for the tools themselves. A file
// has at most maxBody bytes, as a body.
func filesNextTo(folder string) Opener {
	return func(name string) ([]byte, error) {
		if beside := filepath.Join(folder, name); !filepath.IsAbs(name) {
			if _, err := os.Stat(beside); err == nil {
				name = beside
			}
		}
		if info, err := os.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() { // a device or a pipe might never end
			return nil, fmt.Errorf("%s is not a regular file", name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f, name, maxBody)
	}
}

// readBounded reads a file, and fails if it has more than most bytes.
func readBounded(f io.Reader, name string, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s has more than %d bytes, the most that is read of it; write body_file into the scenario", name, most)
	}
	return b, err
}
