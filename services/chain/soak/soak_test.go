package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
)

var (
	kills     = flag.Int("kills", 0, "how often TestKill kills the node; 0: 3, or 8 when tests run in full; TestBackup does a tenth as often, 3 or 6 times")
	seed      = flag.Uint64("seed", 0, "of what is random; 0: another each time")
	assembled = flag.String("assembly", assembly.Tuned, "assembly of the node")
	set       settings
)

func init() {
	flag.Var(&set, "set", "a setting or seam of chaind, such as state=statedb; repeatable")
}

// settings is the value of a flag that can be repeated.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(value string) error {
	*s = append(*s, value)
	return nil
}

// After kill -9 at random moments, all that was acknowledged is mined without being sent again, no
// receipt has changed, the check finds nothing, and go-ethereum executes the exported chain to the
// same head.
func TestKill(t *testing.T) {
	n, from := *kills, *seed
	if n == 0 {
		n = quicktest.Of(3, 8)
	}
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", from)
	t.Log(Kill(t, subject(t), n, from))
}

// built is the node, which all tests share.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(programs, "chaind")
	if out, err := exec.Command("go", "build", "-o", path, "dyno/services/chain/cmd/chaind").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building chaind: %w\n%s", err, out)
	}
	return path, nil
})

// programs is the folder of what the tests build.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "chaind-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// subject returns the node, which it builds the first time.
func subject(t *testing.T) Program {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Path: path, Serve: []string{"--assembly", *assembled}}
	for _, s := range set {
		p.Serve = append(p.Serve, "--set", s)
	}
	return p
}
