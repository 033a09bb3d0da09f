// Package full holds the tests of the contract of an order gateway beyond package core: lists, all
// formats of messages and answers, slow clients, and the end by SIGTERM. Every assembly of ordersd
// passes it.
package full

import (
	"testing"

	"dyno/services/orders/ordertest"
	"dyno/services/orders/ordertest/core"
)

// Test runs the tests of core with lists and all formats of messages, and the rest of the contract.
func Test(t *testing.T, start ordertest.Start) {
	s := ordertest.Scope{Start: start, Lists: true, Formats: formats}
	core.Within(t, s)
	ordertest.Together(t, s, map[string]ordertest.Case{
		"refuses other methods and paths":  refusesMethods,
		"lists the newest first":           listsNewest,
		"lists by status":                  listsByStatus,
		"lists all while orders are added": listsAll,
		"lists own orders only":            listsOwn,
		"refuses bad lists":                refusesLists,
		"refuses dangerous XML":            refusesXML,
		"refuses broken FIX":               refusesFIX,
		"its tables keep what has ended":   keepsEnded,
		"answers in msgpack":               answersMsgpack,
		"negotiates formats":               negotiates,
		"compresses what is long":          compresses,
	})
	ordertest.Alone(t, s, map[string]ordertest.Case{"answers stale only if asked": answersStale})
}

// SlowSenders runs what a program must do about clients that take too long to send. It takes as
// long as the program's own bounds (Env.Client), and says something of its HTTP server only: once
// for each server is enough.
func SlowSenders(t *testing.T, start ordertest.Start) {
	ordertest.Alone(t, ordertest.Scope{Start: start}, map[string]ordertest.Case{"slow": boundsSlow})
}

// SlowReaders is the same about clients that do not read the answer to a list.
func SlowReaders(t *testing.T, start ordertest.Start) {
	ordertest.Alone(t, ordertest.Scope{Start: start}, map[string]ordertest.Case{"unread": boundsUnread})
}

// Stops runs what a program must do when it receives SIGTERM. It says something of its HTTP server
// only: once for each server is enough.
func Stops(t *testing.T, start ordertest.Start) {
	ordertest.Alone(t, ordertest.Scope{Start: start}, map[string]ordertest.Case{"stops": losesNone})
}
