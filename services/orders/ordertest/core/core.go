// Package core holds the tests of what every order gateway must do: queries of one order,
// submissions, tokens, the bounds of requests, and what it answers while its database is away. The
// plain program passes it; package full has the rest.
package core

import (
	"testing"

	"dyno/services/orders/ordertest"
)

// Test runs what the load of the ladder needs: every program passes it, the plain one too.
func Test(t *testing.T, start ordertest.Start) {
	Within(t, ordertest.Scope{Start: start, Formats: map[string]func(ordertest.Message) string{ordertest.TypeJSON: ordertest.Message.JSON}})
}

// Within runs the same for the formats of messages of a scope.
func Within(t *testing.T, s ordertest.Scope) {
	Together(t, s)
	ordertest.Alone(t, s, map[string]ordertest.Case{
		"admits foreign orders if asked": tellsForeign,
		"rotates keys":                   rotatesKeys,
		"an order and its audit are one": auditsOrNot,
		"says that the database is away": saysAway,
		"says that the database hangs":   saysHanging,
		"gives up on a slow database":    givesUp,
		"leaves nothing of gone clients": abandoned,
		"answers what is under way":      answersUnderWay,
	})
}

// Together runs those of it that share one program.
func Together(t *testing.T, s ordertest.Scope) {
	ordertest.Together(t, s, map[string]ordertest.Case{
		"answers an order":                       answersOrder,
		"writes decimals as they are":            writesDecimals,
		"refuses bad queries":                    refusesQueries,
		"knows no such order":                    knowsNone,
		"hides foreign orders":                   hidesForeign,
		"shows versions by ETag":                 tellsVersions,
		"waits for no version":                   refusesVersionsToCome,
		"answers HEAD without a body":            answersHead,
		"refuses other sites' pages":             refusesPages,
		"takes submissions":                      takesSubmissions,
		"takes a submission once":                takesOnce,
		"takes a submission once from many":      takesOnceFromMany,
		"keeps ids of accounts apart":            keepsAccountsApart,
		"refuses an id with other content":       refusesOtherContent,
		"refuses messages for other accounts":    refusesForeignMessages,
		"refuses what is no message":             refusesMessages,
		"refuses formats":                        refusesFormats,
		"refuses long messages":                  refusesLong,
		"asks for a token":                       asksForToken,
		"takes tokens of each algorithm":         takesTokens,
		"refuses forged tokens":                  refusesForged,
		"a token expires":                        tokenExpires,
		"bounds headers":                         boundsHeaders,
		"answers pipelined requests in order":    answersPipelined,
		"refuses two lengths":                    refusesTwoLengths,
		"keeps accounts apart on one connection": keepsConnectionsApart,
		"never gives a foreign answer":           neverForeign,
		"shows what was committed":               showsCommitted,
		"shows what it acknowledged":             showsAcknowledged,
	})
}
