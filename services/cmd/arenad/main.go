// Arenad is the realtime game server. This is wiring only: see services/arena.
package main

import (
	"dyno/parts/command"
	"dyno/services/arena"
)

func main() {
	command.Main(arena.Service(), tokenCommand(), decodeCommand(), replayCommand(), impairCommand())
}
