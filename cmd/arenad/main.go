// Arenad is the realtime game server. This is wiring only: see services/arena.
package main

import (
	"dyno/cmd/service"
	"dyno/services/arena"
)

func main() {
	service.Main(arena.Service(), tokenCommand(), decodeCommand(), botsCommand(), replayCommand(), impairCommand())
}
