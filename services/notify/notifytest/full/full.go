// Package full holds the tests of the API of a notification dispatcher beyond package core:
// managing subscriptions, secrets and dead letters, batches, draining, and keeping subscribers
// apart. Every assembly of notifyd passes it. Streams are in package push.
package full

import (
	"testing"

	"dyno/services/notify/notifytest"
	"dyno/services/notify/notifytest/core"
)

// Test runs the tests of core, and those of the rest of the API but for streams.
func Test(t *testing.T, start notifytest.Start) {
	core.Test(t, start)
	notifytest.Run(t, start, map[string]notifytest.Case{
		"filters by type":               filters,
		"says what is wrong":            notifytest.RefusesBad(true),
		"takes an Idempotency-Key once": takesKeyOnce,
		"names the bad lines":           namesBadLines,
		"refuses in JSON":               refusesInJSON,
		"an id stands for one notice":   refusesOther,
		"forwards traceparent":          forwardsTrace,
		"honours Retry-After":           honoursRetryAfter,
		"410 disables":                  goneDisables,
		"hides addresses":               hidesAddresses,
		"shows a secret once":           showsSecretOnce,
		"rotates secrets":               rotates,
		"forgets replaced secrets":      forgetsSecrets,
		"manages subscriptions":         manages,
		"changes subscriptions":         changes,
		"lists page by page":            pages,
		"deleting gives up":             deletingGivesUp,
		"lists dead letters":            listsDead,
		"replays dead letters":          replays,
		"replays again what dies again": replaysAgain,
		"purges dead letters":           purges,
		"delivers what the model says":  matchesModel,
		"adds up":                       addsUp,
		"batches":                       batches,
		"drains":                        drains,
		"drains within its bound":       drainsBounded,
		"attempts survive a restart":    attemptsSurvive,
		"counts survive a restart":      countsSurvive,
		"hides private targets":         hidesGuarded,
	})
	notifytest.Restarts(t, start, map[string]notifytest.Durable{
		"subscriptions survive": subscriptionsSurvive,
		"dead letters survive":  lettersSurvive,
		"a replay survives":     replaySurvives,
		"deleting survives":     deletingSurvives,
		"details survive":       detailsSurvive,
	})
}

// Isolation runs the tests of a program that keeps its subscribers apart. They decide by numbers of
// webhooks, never by time.
func Isolation(t *testing.T, start notifytest.Start) {
	notifytest.Run(t, start, map[string]notifytest.Case{
		"one that hangs holds up no other": hangingAlone,
		"holds the concurrency asked for":  holdsConcurrency,
		"holds the rate asked for":         holdsRate,
		"429 throttles a subscription":     throttles(429),
		"502 throttles a subscription":     throttles(502),
		"504 throttles a subscription":     throttles(504),
		"breaks the circuit":               breaksCircuit,
	})
}
