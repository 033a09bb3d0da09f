package scenario

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"dyno/lab/scenario/document"
)

// Open reads the scenario file at the given path and sets its Root: the nearest folder at or
// above the file that contains a go.mod, else the file's own. An error in the file's content is
// a document.Errors.
func Open(name string) (*Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading a scenario: %w", err)
	}
	s, err := Parse(name, b)
	if err != nil {
		return nil, err
	}
	if s.Root, err = Root(name); err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", name, err)
	}
	return s, nil
}

// Root returns the folder from which a scenario's relative paths count.
func Root(name string) (string, error) {
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

// rules compiles the schema, the first time. It fails only if the schema is broken, which a test
// would show.
var rules = sync.OnceValues(func() (*document.Schema, error) { return document.Compile(Schema) })

// Parse parses a scenario; name precedes every error's position. An error in its content is a
// document.Errors with all faults, in the order of the file. Root is left empty: paths count from
// the current folder.
func Parse(name string, b []byte) (*Scenario, error) {
	rules, err := rules()
	if err != nil {
		return nil, err
	}
	d, err := document.Read(name, b, rules)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Path: name, Text: string(b)}
	c := checker{Document: d, s: s}
	c.decode()
	c.check()
	d.Validate()
	if d.Err() == nil && c.decodeErr != nil {
		d.FaultAt(nil, "%v", c.decodeErr)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return s, nil
}
