// Package core holds the tests of what every notification dispatcher must do: it accepts notices,
// numbers them, takes an id once, delivers in order per key, retries, guards private addresses, and
// loses nothing when it is killed. The plain program passes it; package full has the rest.
package core

import (
	"testing"

	"dyno/services/notify/notifytest"
)

// Test runs what the load of the ladder needs: every program passes it, the plain one too.
func Test(t *testing.T, start notifytest.Start) {
	notifytest.Run(t, start, map[string]notifytest.Case{
		"delivers":                        delivers,
		"refuses other sites' pages":      refusesPages,
		"allows listed pages":             allowsPages,
		"numbers notices":                 numbers,
		"takes a batch whole or not":      takesWhole,
		"refuses beyond its bound":        refusesBeyond,
		"takes an id once":                takesOnce,
		"takes an id once from many":      takesOnceFromMany,
		"an id for one notice, from many": refusesOtherFromMany,
		"keeps order through failures":    keepsOrder,
		"one in flight per key":           oneInFlight,
		"keys do not block one another":   keysDoNotBlock,
		"gives up after its attempts":     givesUp,
		"follows no redirect":             followsNoRedirect,
		"guards against private targets":  guards,
		"survives kills while it is busy": survivesKills,
		"refuses what is no notice":       notifytest.RefusesBad(false),
	})
	notifytest.Restarts(t, start, map[string]notifytest.Durable{
		"notices survive":            noticesSurvive,
		"order survives":             orderSurvives,
		"ids taken once survive":     idsSurvive,
		"posts between them survive": postsBetweenSurvive,
	})
}
