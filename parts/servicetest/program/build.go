package program

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"
)

// Build is a command that is built once for all tests of a process.
type Build struct {
	Package string

	once sync.Once
	dir  string
	err  error
}

// Path returns the program. The first call builds it.
func (b *Build) Path(t testing.TB) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", path.Base(b.Package)+"-"); b.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", b.dir+"/", b.Package).CombinedOutput(); err != nil {
			b.err = fmt.Errorf("building %s: %w\n%s", b.Package, err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, path.Base(b.Package))
}

// Remove removes it; TestMain calls it when the tests have ended.
func (b *Build) Remove() { os.RemoveAll(b.dir) }
