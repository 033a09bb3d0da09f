package soak

import (
	"flag"
	"os"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
)

var (
	kills     = flag.Int("kills", 0, "how often TestKill kills the node; 0: 3, or 8 when tests run in full; TestBackup does a tenth as often, 3 or 6 times")
	seed      = flag.Uint64("seed", 0, "of what is random; 0: another each time")
	assembled = flag.String("assembly", assembly.Tuned, "assembly of the node")
	set       []string
)

func init() {
	flag.Func("set", "a setting or seam of chaind, such as state=statedb; repeatable", func(value string) error {
		set = append(set, value)
		return nil
	})
}

// After kill -9 at random moments, all that was acknowledged is mined without being sent again, no
// receipt has changed, the check finds nothing, and go-ethereum executes the exported chain to the
// same head.
func TestKill(t *testing.T) {
	n := *kills
	if n == 0 {
		n = quicktest.Of(3, 8)
	}
	t.Log(Kill(t, subject(t), n, servicetest.Seed(t, *seed)))
}

var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// subject returns the node, which it builds the first time.
func subject(t *testing.T) Program {
	t.Helper()
	p := Program{Path: builds.Program(t, "dyno/services/chain/cmd/chaind"), Serve: []string{"--assembly", *assembled}}
	for _, s := range set {
		p.Serve = append(p.Serve, "--set", s)
	}
	return p
}
