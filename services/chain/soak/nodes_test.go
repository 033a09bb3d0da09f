package soak

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
)

var (
	networks = flag.Int("networks", 0, "how many networks TestNodes runs through its faults; 0: 1")
	inject   = flag.String("inject", "", "faults of TestNodes, such as partition,leader, each once a network, in a random order; empty: some, or all when tests run in full")
)

// Nodes that are parted, killed, slowed and lied to, and one that joins late, keep all that was
// acknowledged, once and in one chain.
func TestNodes(t *testing.T) {
	n, faults := *networks, Faults
	switch {
	case *inject != "":
		faults = strings.Split(*inject, ",")
	case quicktest.On():
		faults = []string{"partition", "leader", "join", "lie"}
	}
	if n == 0 {
		n = 1
	}
	for _, f := range faults {
		if !slices.Contains(Faults, f) {
			t.Fatalf("-inject %s: there are %v", f, Faults)
		}
	}
	t.Cleanup(client.CloseIdleConnections)
	t.Log(Nodes(t, subject(t), n, faults, servicetest.Seed(t, *seed)))
}
