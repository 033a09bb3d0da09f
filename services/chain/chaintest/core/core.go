// Package core holds the tests of what every chain node must do: what the load of chaind's ladder
// touches. It sends transactions one by one, in arrays and over WebSocket, reads receipts, nonces,
// balances and blocks, follows new heads, is refused, and kills the program. The plain program
// passes it.
package core

import (
	"testing"

	"dyno/services/chain/chaintest"
)

// Test runs all of it.
func Test(t *testing.T, start chaintest.Start) {
	chaintest.Together(t, start, map[string]chaintest.Case{
		"refuses what is no call":              refusesWhatIsNoCall,
		"keeps the order of an array":          keepsOrder,
		"bounds arrays":                        boundsArrays,
		"refuses other sites' pages":           refusesPages,
		"speaks over WebSocket":                speaksOverWebSocket,
		"mines a transfer":                     minesTransfer,
		"mines each type":                      minesTypes,
		"mines arrays":                         minesArrays,
		"mines over WebSocket":                 minesOverWebSocket,
		"knows none":                           knowsNone,
		"blocks are what they say":             blocksAreWhatTheySay,
		"takes a transaction once":             takesOnce,
		"takes a transaction once from many":   takesOnceFromMany,
		"serves senders concurrently":          servesSenders,
		"waits for a gap to close":             waitsForGap,
		"bounds what waits":                    boundsWaiting,
		"refuses nonces that were used":        refusesUsedNonces,
		"refuses what cannot be paid":          refusesUnpaid,
		"refuses signatures":                   refusesSignatures,
		"refuses forms":                        refusesForms,
		"refuses gas":                          refusesGas,
		"sends new heads":                      sendsHeads,
		"ends a subscription":                  endsSubscription,
		"a head is readable when it announced": headsAreReadable,
	})
	chaintest.Alone(t, start, map[string]chaintest.Case{
		"begins with the development chain": beginsWithAccounts,
		"a returned hash survives kill -9":  survivesKill,
		"what waits for a gap survives":     gapSurvivesKill,
		"goes on where it was stopped":      goesOn,
		"answers what is under way":         answersUnderWay,
	})
}
