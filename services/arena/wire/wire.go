// Package wire is what arenad and its clients send each other: the messages of arena.proto, whose
// Go code generate.sh makes, and the names of the subprotocols.
//
// It is not for how a state becomes bits (package delta), nor for sockets. It starts no goroutines.
package wire

import "encoding/binary"

// The subprotocols of the WebSocket, by their names in its handshake.
const (
	Proto = "arena.v1.proto"
	Bits  = "arena.v1.bits"
)

// Actions of GameEvents beyond those of the game (game.Kind). Those above ActionLobby are the
// clients' own, which the server passes on.
const (
	ActionName  = 16 // EntityId is called Payload, in UTF-8; none: it has no name any more
	ActionChat  = 17 // EntityId says Payload, in UTF-8, to its room
	ActionLobby = 18 // to all rooms of all servers; from the server, Payload is NAME: TEXT
	MaxChat     = 256
)

// Place is the payload of a GameEvent of the game: a number and a point, each a 32-bit word with
// the lowest byte first.
func Place(number uint32, x, y int32) []byte {
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 12), number)
	out = binary.LittleEndian.AppendUint32(out, uint32(x))
	return binary.LittleEndian.AppendUint32(out, uint32(y))
}
