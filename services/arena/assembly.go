package arena

import (
	"dyno/parts/assembly"
	"dyno/services/arena/heartbeat"
	"dyno/services/arena/room"
)

// Config is what arenad is assembled from.
type Config struct {
	room.Config
	Heartbeat      heartbeat.Config
	Socket         string `seam:"socket"`
	MaxConnections int    `set:"max_connections" default:"20000" min:"1" max:"1000000" doc:"open WebSockets; above it 503"`
}

// FromChoice reads a resolved assembly.
func FromChoice(c assembly.Choice) Config { return assembly.Bind[Config](c) }

// Assembly is the service's seams, settings and ladder. The first implementation of each seam and
// the defaults of the settings are those of the plain program.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "state", Doc: "writes a state for a client", Impls: []assembly.Impl{
				{Name: "each", Doc: "the whole state in Protobuf, anew for each client"},
				{Name: "shared", Doc: "the whole state in Protobuf, made once for all"},
				{Name: "delta", Doc: "as shared; in the compact subprotocol what has changed since the last state that the client was written, in bits, made once for all that have the same"},
				{Name: "predicted", Doc: "as delta; per player the smaller of that and what differs from going on as before"},
			}},
			{Name: "socket", Doc: "reads and writes WebSocket", Impls: []assembly.Impl{
				{Name: "coder", Doc: "github.com/coder/websocket: a message in a write"},
				{Name: "frames", Doc: "frames of our own: several messages in a write, a small buffer for each connection"},
			}},
			{Name: "write", Doc: "gives frames to the kernel", Impls: []assembly.Impl{
				{Name: "each", Doc: "a goroutine for each client, a write for each frame"},
				{Name: "merged", Doc: "a goroutine for each client, a write for all that waits"},
				{Name: "direct", Doc: "the room itself, a write for all that waits, which does not wait for the kernel (with socket=frames, without TLS)"},
			}},
			{Name: "read", Doc: "reads what players send", Impls: []assembly.Impl{
				{Name: "goroutine", Doc: "a goroutine for each client, when it comes"},
				{Name: "tick", Doc: "the room, before its tick, from all clients (with socket=frames, without TLS)"},
			}},
		},
		Settings: assembly.Settings[Config](),
		Ladder: []assembly.Step{
			{Name: "shared", Change: map[string]string{"state": "shared"},
				Why: "50 players receive the same state: it need be encoded once"},
			{Name: "delta", Change: map[string]string{"state": "delta"},
				Why: "most of a state is as it was a tick ago"},
			{Name: "predicted", Change: map[string]string{"state": "predicted"},
				Why: "players that keep their direction are where one expects them"},
			{Name: "frames", Change: map[string]string{"socket": "frames"},
				Why: "a library's message costs its own write, its context and its timer"},
			{Name: "merged", Change: map[string]string{"write": "merged"},
				Why: "a tick's events and its state fit in one write"},
			{Name: "direct", Change: map[string]string{"write": "direct"},
				Why: "a write that does not wait needs no goroutine to be woken for it"},
			{Name: "tick", Change: map[string]string{"read": "tick"},
				Why: "an input is due in the next tick: reading it then needs no goroutine, nor its stack"},
		},
	}
}
