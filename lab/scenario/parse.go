package scenario

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Open reads the scenario file at the given path and sets its Root: the nearest folder at or
// above the file that contains a go.mod, else the file's own. An error in the file's content is
// an Errors.
func Open(name string) (*Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	s, err := Parse(name, b)
	if err != nil {
		return nil, err
	}
	if s.Root, err = root(name); err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", name, err)
	}
	return s, nil
}

// root returns the folder from which a scenario's relative paths count.
func root(name string) (string, error) {
	own, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	for dir := own; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil:
			return dir, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		case dir == filepath.Dir(dir):
			return own, nil
		}
	}
}

// Resolve returns a path of the scenario in a form that can be opened.
func (s *Scenario) Resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Root, name)
}

// Parse parses a scenario; name precedes every error's position. The error is an Errors with all
// faults, in the order of the file. Root is left empty: paths count from the current folder.
func Parse(name string, b []byte) (*Scenario, error) {
	rules, err := loadSchema()
	if err != nil {
		return nil, err
	}
	d, broken := readDocument(name, b)
	if d == nil {
		return nil, broken
	}
	s := &Scenario{Path: name, Text: string(b)}
	c := checker{document: d, rules: rules, s: s}
	c.decode()
	c.check()
	d.validate(rules)
	if len(d.errs) == 0 && c.decodeErr != nil {
		d.fault(d.root, nil, "%v", c.decodeErr)
	}
	if len(d.errs) > 0 {
		return nil, d.errs.sorted()
	}
	return s, nil
}
