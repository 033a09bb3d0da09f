// Package core holds the tests of what every game server must do: what the load of arenad's ladder
// touches. Players join, move, leave, come back and watch; capacity is held; frames that break RFC
// 6455 end the connection with its code. The plain program passes it.
package core

import (
	"testing"

	"dyno/services/arena/arenatest"
)

// Test runs all of it.
func Test(t *testing.T, start arenatest.Start) {
	arenatest.Run(t, start, map[string]arenatest.Case{
		"welcomes":                     welcomes,
		"shows each tick":              showsEachTick,
		"lists rooms":                  listsRooms,
		"refuses rooms":                refusesRooms,
		"answers heartbeats":           answersHeartbeats,
		"moves as the rules say":       moves,
		"does a command once":          doesOnce,
		"drops what is ahead of time":  dropsHurried,
		"a player that leaves is gone": leaves,
		"a lost player resumes":        resumes,
		"spectators see the same":      spectates,
		"holds its capacity":           holdsCapacity,
		"knows its rooms":              knowsRooms,
		"answers pings":                answersPings,
		"refuses floods":               refusesFloods,
		"refuses malformed messages":   refusesMalformed,
		"refuses other sites' pages":   refusesPages,
		"keeps RFC 6455":               keepsRFC,
	})
}
