// Package wire is what arenad and its clients send each other: the messages of arena.proto, whose
// Go code generate.sh makes, and the names of the subprotocols.
//
// It is not for how a state becomes bits (package bits), nor for sockets. It starts no goroutines.
package wire

import "encoding/binary"

// The subprotocols of the WebSocket, by their names in its handshake.
const (
	Proto = "arena.v1.proto"
	Bits  = "arena.v1.bits"
)

// Actions of GameEvents beyond those of the game (game.Kind).
const (
	ActionName  = 16 // EntityId is called Payload, in UTF-8
	ActionChat  = 17 // EntityId says Payload, in UTF-8; those above ActionLobby are a client's own, which the server passes on
	ActionLobby = 18 // Payload says it to all rooms of all servers; NAME: TEXT when it comes from the server
	MaxChat     = 256
)

// Place is the payload of a GameEvent of the game: a number and a point, each a 32-bit word with
// the lowest byte first.
func Place(number uint32, x, y int32) []byte {
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 12), number)
	out = binary.LittleEndian.AppendUint32(out, uint32(x))
	return binary.LittleEndian.AppendUint32(out, uint32(y))
}
