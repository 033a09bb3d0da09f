// Package ledgertest is the black-box suite of a history client: what any program must do that
// keeps the contract of ledgersync's commands, however it is put together. It runs the program with
// arguments, lets it talk to simulated servers (services/ledger/sim) over loopback, and compares
// what it has stored in the end with the simulator's chain. Core, Alone and Deaths are what the
// load of ledgersync's ladder needs, and what the plain program passes: a range, proved at L2 and
// stored, that goes on after an interruption. Every assembly of ledgersync passes Test, which is
// Core and the rest.
//
// It reads what is stored from export, so that it knows nothing of a program's store, and it
// decodes answers on its own, so that a program's decoder is not checked by the same code. It is
// not for speed, and not for long runs of random faults and deaths (package soak). Everything that
// a test starts has ended when the test has.
package ledgertest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/sim/fault"
)

// The chain of the suite: long enough for several batches and shards, small enough to be made in a
// moment.
const (
	first        = 1000
	ledgers      = 80
	last         = first + ledgers - 1
	transactions = 5
	seed         = 7
)

// Core runs what the load of the ladder needs: every client passes it, the plain one too.
func Core(t *testing.T, start program.Start) { run(t, scope{start: start}, nil, core) }

var core = map[string]test{
	"stores a range":                      storesRange,
	"has nothing to do twice":             doesNothingTwice,
	"goes on after it was stopped":        goesOnStopped,
	"joins neighbouring ranges":           joinsNeighbours,
	"stores nothing below a false anchor": refusesFalseAnchor,
	"waits for a server that is away":     waitsForServer,
	"refuses a folder that is in use":     refusesUsedFolder,
}

// Alone runs what a client with one server must do when that answers wrongly now and then.
func Alone(t *testing.T, start program.Start) {
	run(t, scope{start: start}, neverStoresWrong, map[string]test{})
}

// Deaths runs what every client must do when it is killed. It must be a process of its own.
func Deaths(t *testing.T, start program.Start) {
	run(t, scope{start: start}, nil, map[string]test{"killed": goesOnKilled})
}

// Test runs Core, with the account that a sync gives of itself and with check, and the rest. hasty
// are arguments with which a sync that must fail gives up soon.
func Test(t *testing.T, start program.Start, hasty ...string) {
	run(t, scope{start, true, hasty}, nil, core)
	run(t, scope{start, true, hasty}, blamesGuilty, map[string]test{
		"says what the server lacks":            tellsLack,
		"fetches what was lacking":              fetchesLack,
		"gives up on a server that is gone":     givesUpOnServer,
		"refuses wrong flags":                   refusesFlags,
		"reads no folder that is not there":     refusesNoFolder,
		"fetches from several servers":          fetchesFromSeveral,
		"goes round a server that hangs":        goesRoundHanging,
		"goes round a server that is gone":      goesRoundGone,
		"fills gaps of one from another":        fillsGaps,
		"says what all servers lack":            tellsLackOfAll,
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

type test = func(*client)

// scope is a program and the part of the contract that it keeps.
type scope struct {
	start program.Start
	whole bool     // it has check, and --json says more than what is stored and what is missing
	hasty []string // arguments with which a sync that must fail gives up soon
}

// run runs tests at the same time, and one for every kind of fault, over one chain and with a
// folder for each.
func run(t *testing.T, s scope, fault func(*client, fault.Kind), tests map[string]test) {
	w := newWorld(t)
	if fault != nil {
		for kind := range rates {
			tests[fmt.Sprintf("faults/%s", kind)] = func(c *client) { fault(c, kind) }
		}
	}
	t.Run("all", func(t *testing.T) {
		servicetest.Parallel(t, tests, func(t *testing.T, do test) {
			do(&client{t: t, scope: s, world: w, dir: filepath.Join(t.TempDir(), "history")})
		})
	})
}

// patience bounds every wait; it is reached only when a test fails.
const patience = 2 * time.Minute
