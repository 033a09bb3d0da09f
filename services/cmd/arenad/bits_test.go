package main

import (
	"context"
	"testing"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"dyno/parts/assembly"
	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/delta"
	"dyno/services/arena/wire"
)

// player plays in arena.v1.bits.
type player struct {
	t       *testing.T
	conn    *websocket.Conn
	decoder delta.Decoder
	welcome *wire.Welcome
}

func joinBits(t *testing.T, p arenatest.Program, j *wire.Join) *player {
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+p.URL[len("http"):]+"/ws", &websocket.DialOptions{Subprotocols: []string{wire.Proto, wire.Bits}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	if got := conn.Subprotocol(); got != wire.Bits {
		t.Fatalf("the subprotocol is %q", got)
	}
	out := &player{t: t, conn: conn}
	out.send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: j}})
	for out.welcome == nil {
		out.next()
	}
	return out
}

func (p *player) send(f *wire.ClientFrame) {
	text, err := proto.Marshal(f)
	if err == nil {
		err = p.conn.Write(context.Background(), websocket.MessageBinary, text)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// next reads a message; a state and what it acknowledges, if it is one.
func (p *player) next() (*delta.State, uint32) {
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
	defer cancel()
	_, message, err := p.conn.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	if message[0] == delta.Packed {
		s, acked, err := p.decoder.Decode(message)
		if err != nil {
			p.t.Fatal(err)
		}
		return s, acked
	}
	var f wire.ServerFrame
	if err := proto.Unmarshal(message[1:], &f); err != nil {
		p.t.Fatal(err)
	}
	if w := f.GetWelcome(); w != nil {
		p.welcome = w
	}
	return nil, 0
}

// What the compact stream decodes to is what a spectator receives in Protobuf.
func TestBits(t *testing.T) {
	for _, v := range []assembly.Variant{{Assembly: "delta"}, {Assembly: assembly.Tuned}} {
		program := starter(t, v)(t)
		t.Cleanup(program.Stop)
		c := &arenatest.Client{T: t, Program: program}
		room := c.Room(`{"bots":40,"seed":3}`)
		p, watch := joinBits(t, program, &wire.Join{Room: room}), c.Join(&wire.Join{Room: room, Spectate: true})
		hashes := map[uint32]uint64{}
		var acked uint32
		for i := uint32(0); len(hashes) < 90 || acked == 0; {
			if s, a := p.next(); s != nil {
				hashes[s.Tick], acked = s.Hash, a
				i++
				p.send(&wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: i, AckTick: s.Tick, Commands: []*wire.Command{{Seq: i, Buttons: i / 8}}}}})
			}
		}
		same := 0
		for same < 30 {
			s := watch.Next()
			if hash, ok := hashes[s.Tick]; ok {
				same++
				if hash != s.Hash {
					t.Fatalf("%s: tick %d has the hash %x, and %x for a spectator", v.Assembly, s.Tick, hash, s.Hash)
				}
			}
		}
	}
}

// Players that see a part of the world receive what is near them.
func TestInterest(t *testing.T) {
	program := starter(t, assembly.Variant{Assembly: assembly.Tuned, Set: map[string]string{"interest": "200"}})(t)
	t.Cleanup(program.Stop)
	c := &arenatest.Client{T: t, Program: program}
	room := c.Room(`{"bots":40,"seed":3}`)
	p := joinBits(t, program, &wire.Join{Room: room})
	fewest := 1000
	for n := 0; n < 60; {
		s, _ := p.next()
		if s == nil {
			continue
		}
		n++
		var me *delta.State
		for _, e := range s.Entities {
			if e.ID == p.welcome.EntityId {
				me = s
			}
		}
		if me == nil {
			t.Fatalf("tick %d: a player does not see itself", s.Tick)
		}
		fewest = min(fewest, len(s.Entities))
	}
	if fewest > 20 {
		t.Errorf("a player sees %d of 41 players in a fifth of the world's width", fewest)
	}
}
