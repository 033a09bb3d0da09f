package soak

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
)

var (
	kills     = flag.Int("kills", 0, "how often TestKill kills the node; 0: 3, or 20 when tests run in full")
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
		n = quicktest.Of(3, 20)
	}
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", from)
	t.Log(Kill(t, subject(t), n, from))
}

// subject builds the node.
func subject(t *testing.T) Program {
	t.Helper()
	p := Program{Path: filepath.Join(t.TempDir(), "chaind"), Serve: []string{"--assembly", *assembled}}
	if out, err := exec.Command("go", "build", "-o", p.Path, "dyno/services/chain/cmd/chaind").CombinedOutput(); err != nil {
		t.Fatalf("building chaind: %v\n%s", err, out)
	}
	for _, s := range set {
		p.Serve = append(p.Serve, "--set", s)
	}
	return p
}
