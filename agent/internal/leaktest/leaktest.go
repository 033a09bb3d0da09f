// Package leaktest fails the tests of a package that leave goroutines of this module behind. It
// does what goleak does as far as the agent needs it, so that the module has no requirements. It is
// not for use outside the agent.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package and exits; the exit code is 1 also when a goroutine of the agent
// is left after 30 s.
func Main(m *testing.M) {
	code := m.Run()
	left := running()
	for deadline := time.Now().Add(30 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = running() {
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines are left:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// running returns the stacks of all goroutines with a function of the agent in them, but for the
// caller's.
func running() (stacks []string) {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	for i, stack := range strings.Split(string(text), "\n\n") {
		if i > 0 && strings.Contains(stack, "dyno/agent") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
