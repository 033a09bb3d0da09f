package soak

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/quicktest"
)

var (
	networks = flag.Int("networks", 0, "how many networks TestNodes runs through its faults; 0: 1, or 3 when tests run in full")
	inject   = flag.String("inject", strings.Join(Faults, ","), "faults of TestNodes, each once a network, in a random order")
)

// Nodes that are parted, killed, slowed and lied to, and one that joins late, keep all that was
// acknowledged, once and in one chain.
func TestNodes(t *testing.T) {
	n, from, faults := *networks, *seed, strings.Split(*inject, ",")
	if n == 0 {
		n = quicktest.Of(1, 3)
	}
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	for _, f := range faults {
		if !slices.Contains(Faults, f) {
			t.Fatalf("-inject %s: there are %v", f, Faults)
		}
	}
	t.Cleanup(client.CloseIdleConnections)
	t.Logf("-seed %d", from)
	t.Log(Nodes(t, subject(t), n, faults, from))
}
