package arenatest

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"dyno/parts/servicetest"
	"dyno/services/arena/wire"
)

// Player is a connection in the subprotocol arena.v1.proto.
type Player struct {
	c       *Client
	conn    *websocket.Conn
	Welcome *wire.Welcome
	Seq     uint32 // of the last command
	packets uint32
	Last    *wire.Snapshot
}

// Connect opens a connection and sends no frame.
func (c *Client) Connect() *Player {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, c.socketURL(), &websocket.DialOptions{Subprotocols: []string{wire.Proto}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		c.T.Fatal(err)
	}
	if got := conn.Subprotocol(); got != wire.Proto {
		c.T.Fatalf("the subprotocol is %q", got)
	}
	conn.SetReadLimit(1 << 20)
	c.T.Cleanup(func() { conn.CloseNow() })
	return &Player{c: c, conn: conn}
}

// Join opens a connection and joins.
func (c *Client) Join(j *wire.Join) *Player {
	c.T.Helper()
	p := c.Connect()
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: j}})
	f := p.Receive()
	if p.Welcome = f.GetWelcome(); p.Welcome == nil {
		c.T.Fatalf("a Join was answered by %v", f)
	}
	return p
}

// Refused sends a Join that must be refused, and returns the code of the error. The close code must
// be 1008.
func (c *Client) Refused(j *wire.Join) string {
	c.T.Helper()
	p := c.Connect()
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: j}})
	return p.Error()
}

// Error reads on until the server refuses, and returns the code of the error.
func (p *Player) Error() string {
	p.c.T.Helper()
	code := ""
	for {
		f, err := p.receive()
		if err != nil {
			if got := websocket.CloseStatus(err); got != websocket.StatusPolicyViolation {
				p.c.T.Fatalf("after the error %q the connection ended by %v", code, err)
			}
			return code
		}
		if e := f.GetError(); e != nil {
			code = e.Code
		}
	}
}

// Send sends a frame.
func (p *Player) Send(f *wire.ClientFrame) {
	p.c.T.Helper()
	text, err := proto.Marshal(f)
	if err == nil {
		err = p.conn.Write(context.Background(), websocket.MessageBinary, text)
	}
	if err != nil {
		p.c.T.Fatal(err)
	}
}

// Write sends a message of any bytes.
func (p *Player) Write(kind websocket.MessageType, text []byte) {
	p.c.T.Helper()
	if err := p.conn.Write(context.Background(), kind, text); err != nil {
		p.c.T.Fatal(err)
	}
}

// Press sends n commands with some buttons in one packet.
func (p *Player) Press(buttons uint32, n int) {
	p.c.T.Helper()
	var commands []*wire.Command
	for range n {
		p.Seq++
		commands = append(commands, &wire.Command{Seq: p.Seq, Buttons: buttons})
	}
	p.Commands(commands)
}

// Commands sends a packet.
func (p *Player) Commands(commands []*wire.Command) {
	p.c.T.Helper()
	p.packets++
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: p.packets, Commands: commands}}})
}

// Leave says that the player leaves.
func (p *Player) Leave() {
	p.c.T.Helper()
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Leave{Leave: &wire.Leave{}}})
}

// Lose ends the connection without a word.
func (p *Player) Lose() { p.conn.CloseNow() }

func (p *Player) receive() (*wire.ServerFrame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
	defer cancel()
	kind, text, err := p.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageBinary {
		return nil, errors.New("a text message of the server")
	}
	f := new(wire.ServerFrame)
	return f, proto.Unmarshal(text, f)
}

// Receive returns the next frame.
func (p *Player) Receive() *wire.ServerFrame {
	p.c.T.Helper()
	f, err := p.receive()
	if err != nil {
		p.c.T.Fatal(err)
	}
	return f
}

// Next returns the next state, whose hash must be that of its entities.
func (p *Player) Next() *wire.Snapshot {
	p.c.T.Helper()
	for {
		f := p.Receive()
		if s := f.GetSnapshot(); s != nil {
			if got := Hash(s.Entities); got != s.Hash {
				p.c.T.Fatalf("tick %d has the hash %x, and its entities %x", s.Tick, s.Hash, got)
			}
			p.Last = s
			return s
		}
	}
}

// Until returns the first state for which done returns true.
func (p *Player) Until(done func(*wire.Snapshot) bool) *wire.Snapshot {
	p.c.T.Helper()
	for {
		if s := p.Next(); done(s) {
			return s
		}
	}
}

// Acked returns the first state that acknowledges the last command.
func (p *Player) Acked() *wire.Snapshot {
	p.c.T.Helper()
	return p.Until(func(s *wire.Snapshot) bool { return s.AckedSeq >= p.Seq })
}

// Find returns an entity of a state; nil: it is not in it.
func Find(s *wire.Snapshot, id uint32) *wire.Entity {
	for _, e := range s.Entities {
		if e.Id == id {
			return e
		}
	}
	return nil
}

// Hash is the hash of a state, as the contract says.
func Hash(entities []*wire.Entity) uint64 {
	h := fnv.New64a()
	for _, e := range entities {
		for _, word := range []uint32{e.Id, uint32(e.X), uint32(e.Y), e.Dir, e.Hp, e.Score} {
			h.Write(binary.LittleEndian.AppendUint32(nil, word))
		}
	}
	return h.Sum64()
}

// Pour sends a message again and again until the connection ends.
func (p *Player) Pour(text []byte) {
	for p.conn.Write(context.Background(), websocket.MessageBinary, text) == nil {
	}
}

// Event returns the next event of an action.
func (p *Player) Event(action uint32) *wire.GameEvent {
	p.c.T.Helper()
	for {
		if e := p.Receive().GetEvent(); e.GetActionType() == action {
			return e
		}
	}
}

// Acknowledge says which state the player has.
func (p *Player) Acknowledge(tick uint32) {
	p.c.T.Helper()
	p.packets++
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: p.packets, AckTick: tick}}})
}

// Ended reads until the connection ends, and returns the code of its Close frame; -1: it had none.
func (p *Player) Ended() int {
	for {
		if _, err := p.receive(); err != nil {
			return int(websocket.CloseStatus(err))
		}
	}
}

// Once joins as a spectator and sends a message, which may end the connection.
func (c *Client) Once(message []byte) {
	c.T.Helper()
	p := c.Join(&wire.Join{Spectate: true})
	defer p.conn.CloseNow()
	p.Write(websocket.MessageBinary, message)
}

// NameOf returns the name that the server gives a player.
func (p *Player) NameOf(id uint32) string {
	p.c.T.Helper()
	for {
		if e := p.Event(wire.ActionName); e.EntityId == id {
			return string(e.Payload)
		}
	}
}

// Fatal ends the test.
func (p *Player) Fatal(why string) {
	p.c.T.Helper()
	p.c.T.Fatal(why)
}
