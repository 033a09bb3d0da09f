// Package ledgertest is the black-box suite of a history client: what any program must do that keeps the contract of
// ledgersync's commands, however it is put together. It runs the program with arguments, lets it talk to simulated
// servers (services/ledger/sim) over loopback, and compares what it has stored in the end with the simulator's chain. The
// plain program and every assembly of ledgersync pass Core, Alone and Deaths; Full is what ledgersync has beyond the plain program.
//
// It reads what is stored from export, so that it knows nothing of anybody's store, and it takes answers apart by
// itself, so that whoever decodes them is not checked by the same code. It is not for speed, and not for long runs of
// random faults and deaths (package soak). Everything that a test starts has ended when the test has.
package ledgertest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"dyno/services/ledger/sim"
)

// The chain of the suite: long enough for several batches and shards, small enough to be made in a moment.
const (
	first        = 1000
	ledgers      = 80
	last         = first + ledgers - 1
	transactions = 5
	seed         = 7
)

// Core runs what every client must do. hasty are arguments with which a sync that has to fail gives up soon.
func Core(t *testing.T, start Start, hasty ...string) {
	run(t, start, hasty, nil, map[string]test{
		"stores a range":                      storesRange,
		"has nothing to do twice":             doesNothingTwice,
		"goes on after it was stopped":        goesOnStopped,
		"joins neighbouring ranges":           joinsNeighbours,
		"stores nothing below a false anchor": refusesFalseAnchor,
		"tells what the server lacks":         tellsLack,
		"fetches what was lacking":            fetchesLack,
		"waits for a server that is away":     waitsForServer,
		"gives up on a server that is gone":   givesUpOnServer,
		"refuses a folder that is in use":     refusesUsedFolder,
		"refuses wrong flags":                 refusesFlags,
		"reads no folder that is not there":   refusesNoFolder,
	})
}

// Alone runs what a client with one server must do when that answers wrongly now and then: it takes as long as the client
// leaves a liar alone.
func Alone(t *testing.T, start Start) { run(t, start, nil, neverStoresWrong, map[string]test{}) }

// Deaths runs what every client must do when it is killed. It must be a process of its own.
func Deaths(t *testing.T, start Start) {
	run(t, start, nil, nil, map[string]test{"goes on after it was killed": goesOnKilled})
}

// Full runs what ledgersync has beyond the plain program, with the same hasty as Core.
func Full(t *testing.T, start Start, hasty ...string) {
	run(t, start, hasty, blamesGuilty, map[string]test{
		"fetches from several servers":          fetchesFromSeveral,
		"goes round a server that hangs":        goesRoundHanging,
		"goes round a server that is gone":      goesRoundGone,
		"fills gaps of one from another":        fillsGaps,
		"tells what all servers lack":           tellsLackOfAll,
		"links from an anchor above":            linksFromAbove,
		"stores at every level":                 storesAtEveryLevel,
		"fetches over WebSocket":                fetchesOverWebSocket,
		"keeps within the limits":               keepsLimits,
		"verifies what it exports":              verifiesExport,
		"finds what was tampered with":          findsTampering,
		"packs and unpacks":                     packs,
		"refuses a pack that was tampered with": refusesPack,
		"exports a part":                        exportsPart,
	})
}

// test is one of the suite.
type test = func(*client)

// run runs tests at the same time, and one for every kind of fault, over one chain and with a folder for each.
func run(t *testing.T, start Start, hasty []string, fault func(*client, sim.Kind), tests map[string]test) {
	w := newWorld(t)
	if fault != nil {
		for kind := range rates {
			tests[fmt.Sprintf("faults/%s", kind)] = func(c *client) { fault(c, kind) }
		}
	}
	t.Run("all", func(t *testing.T) {
		for name, do := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(&client{t: t, start: start, hasty: hasty, world: w, dir: filepath.Join(t.TempDir(), "history")})
			})
		}
	})
}

// patience bounds every wait; it is reached only when a test fails.
const patience = 2 * time.Minute
