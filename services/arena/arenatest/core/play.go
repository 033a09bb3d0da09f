package core

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// The rules of the contract that players meet.
const (
	right, fire = 8, 16
	stride      = 120 * 32 / 60 // units of a command
	edge        = 1000*32 - 1
	ahead       = 8 // commands
)

func welcomes(c *arenatest.Client) {
	room := c.Room(`{"capacity":3,"seed":7}`)
	p := c.Join(&wire.Join{Name: "ada", Room: room})
	w := p.Welcome
	if w.EntityId == 0 || w.Room != room || w.Resume == "" || w.TickHz != 30 || w.World != 1000 || w.Scale != 32 || w.TopSpeed != 120 {
		c.T.Errorf("welcome: %v", w)
	}
	if any := c.Join(&wire.Join{}); any.Welcome.Room == "" {
		c.T.Errorf("a Join of any room: %v", any.Welcome)
	}
}

func showsEachTick(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{"bots":4,"seed":7}`)})
	before := p.Next()
	// A player of another test may have joined: the server sends those who name no room to any.
	if len(before.Entities) < 5 {
		c.T.Errorf("%d entities of 4 bots and a player", len(before.Entities))
	}
	for range 30 {
		s := p.Next()
		if s.Tick <= before.Tick { // a tick may be left out, for a client that was slow on a busy machine
			c.T.Errorf("tick %d after %d", s.Tick, before.Tick)
		}
		before = s
	}
}

func listsRooms(c *arenatest.Client) {
	room := c.Room(`{"capacity":9,"bots":2}`)
	c.Join(&wire.Join{Room: room})
	c.Join(&wire.Join{Room: room, Spectate: true})
	// A player of another test may have joined: the server sends those who name no room to any.
	if l := c.Listed(room); l.Players < 3 || l.Capacity != 9 || l.Hz != 30 || l.Spectators != 1 {
		c.T.Errorf("%+v", l)
	}
}

func refusesRooms(c *arenatest.Client) {
	for _, body := range []string{`{"capacity":0}`, `{"capacity":100000}`, `{"capacity":2,"bots":3}`, `{"bots":-1}`, `{`, `7`, ``} {
		var why struct{ Error string }
		if status := c.Call("POST", "/v1/rooms", body, &why); status != http.StatusBadRequest || why.Error == "" {
			c.T.Errorf("%s: status %d, %q", body, status, why.Error)
		}
	}
}

func answersHeartbeats(c *arenatest.Client) {
	var answer struct {
		ServerMs int64 `json:"server_ms"`
	}
	if status := c.Call("POST", "/api/heartbeat", `{"player_id":"7"}`, &answer); status != http.StatusOK || answer.ServerMs < 1e12 {
		c.T.Errorf("status %d, %+v", status, answer)
	}
}

// moved returns the units between a player's places in two states.
func moved(id uint32, from, to *wire.Snapshot) int32 {
	return arenatest.Find(to, id).X - arenatest.Find(from, id).X
}

// leftward returns the state after a player went to the left edge, where it has room to the right.
func leftward(p *arenatest.Player) *wire.Snapshot {
	for range 20 * 30 { // ticks
		s := p.Next()
		if arenatest.Find(s, p.Welcome.EntityId).X == 0 {
			return s
		}
		p.Press(4, 2)
	}
	p.Fatal("a player that goes left does not come to the edge")
	return nil
}

func moves(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	leftward(p)
	from := p.Acked()
	p.Press(right, 3)
	p.Press(right|2, 1) // and down, at the diagonal's speed
	to := p.Acked()
	if got, want := moved(p.Welcome.EntityId, from, to), int32(3*stride+stride*7071/10000); got != want && arenatest.Find(from, p.Welcome.EntityId).Y < edge-stride {
		c.T.Errorf("4 commands moved a player by %d units, not %d", got, want)
	}
}

func doesOnce(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	leftward(p)
	from := p.Acked()
	p.Press(right, 2)
	again := []*wire.Command{{Seq: p.Seq - 1, Buttons: right}, {Seq: p.Seq, Buttons: right}}
	p.Commands(again)
	p.Commands(append(again, &wire.Command{Seq: p.Seq + 1, Buttons: right}))
	p.Seq++
	if got := moved(p.Welcome.EntityId, from, p.Acked()); got != 3*stride {
		c.T.Errorf("3 commands, two of them sent three times, moved a player by %d units", got)
	}
}

func dropsHurried(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	leftward(p)
	from := p.Acked()
	p.Press(right, 100)
	p.Press(right, 100)
	to := p.Acked()
	if got, most := moved(p.Welcome.EntityId, from, to), int32(to.Tick-from.Tick+1)*2+ahead; got > most*stride {
		c.T.Errorf("a player did %d commands in %d ticks", got/stride, to.Tick-from.Tick)
	}
}

func leaves(c *arenatest.Client) {
	room := c.Room(`{}`)
	p, other := c.Join(&wire.Join{Room: room}), c.Join(&wire.Join{Room: room})
	id := p.Welcome.EntityId
	other.Until(func(s *wire.Snapshot) bool { return arenatest.Find(s, id) != nil })
	p.Leave()
	other.Until(func(s *wire.Snapshot) bool { return arenatest.Find(s, id) == nil })
	if code := c.Refused(&wire.Join{Room: room, Resume: p.Welcome.Resume}); code != "bad_resume" {
		c.T.Errorf("resuming after Leave: %q", code)
	}
}

func resumes(c *arenatest.Client) {
	room := c.Room(`{"capacity":2}`)
	p, other := c.Join(&wire.Join{Room: room}), c.Join(&wire.Join{Room: room})
	p.Press(right, 4)
	at := arenatest.Find(p.Acked(), p.Welcome.EntityId)
	p.Lose()
	other.Next()
	if s := other.Next(); arenatest.Find(s, p.Welcome.EntityId) == nil {
		c.T.Error("a lost player has no body")
	}
	back := c.Join(&wire.Join{Resume: p.Welcome.Resume, Room: room})
	if back.Welcome.EntityId != p.Welcome.EntityId {
		c.T.Fatalf("id %d instead of %d", back.Welcome.EntityId, p.Welcome.EntityId)
	}
	if now := arenatest.Find(back.Next(), p.Welcome.EntityId); now == nil || now.X != at.X || now.Y != at.Y || now.Score != at.Score {
		c.T.Errorf("it is %v, and was %v", now, at)
	}
	back.Press(right, 2)
	back.Acked()
	if code := c.Refused(&wire.Join{Resume: p.Welcome.Resume, Room: room}); code != "bad_resume" {
		c.T.Errorf("a token that was used: %q", code)
	}
	if code := c.Refused(&wire.Join{Resume: "none", Room: room}); code != "bad_resume" {
		c.T.Errorf("a token that never was: %q", code)
	}
}

func spectates(c *arenatest.Client) {
	room := c.Room(`{"bots":8,"capacity":9}`)
	p, s := c.Join(&wire.Join{Room: room}), c.Join(&wire.Join{Room: room, Spectate: true})
	if s.Welcome.EntityId != 0 {
		c.T.Errorf("a spectator has the id %d", s.Welcome.EntityId)
	}
	hashes := map[uint32]uint64{}
	for range 20 {
		state := p.Next()
		hashes[state.Tick] = state.Hash
	}
	same := 0
	for same < 10 {
		state := s.Next()
		if h, ok := hashes[state.Tick]; ok && h != state.Hash {
			c.T.Fatalf("tick %d: a spectator sees another state", state.Tick)
		} else if ok {
			same++
		}
		if len(hashes) > 0 && state.Tick > p.Last.Tick {
			break
		}
	}
	if same == 0 {
		c.T.Error("a player and a spectator had no tick in common")
	}
}

func holdsCapacity(c *arenatest.Client) {
	room := c.Room(`{"capacity":5}`)
	var joins sync.WaitGroup
	var full atomic.Int32
	for range 12 {
		p := c.Connect()
		joins.Go(func() {
			p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Room: room}}})
			if e := p.Receive().GetError(); e != nil && e.Code == "room_full" {
				full.Add(1)
			}
		})
	}
	joins.Wait()
	if got := c.Listed(room).Players; got != 5 || full.Load() != 7 {
		c.T.Errorf("%d players are in a room for 5, and %d of 12 were refused", got, full.Load())
	}
	if c.Join(&wire.Join{Room: room, Spectate: true}).Welcome == nil {
		c.T.Error("no place for a spectator")
	}
}

func knowsRooms(c *arenatest.Client) {
	if code := c.Refused(&wire.Join{Room: "none"}); code != "no_such_room" {
		c.T.Errorf("%q", code)
	}
}

func answersPings(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{ClientMs: 12345}}})
	for {
		if pong := p.Receive().GetPong(); pong != nil {
			if pong.ClientMs != 12345 || pong.ServerMs < 1e12 {
				c.T.Errorf("%v", pong)
			}
			return
		}
	}
}

func refusesFloods(c *arenatest.Client) {
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	var sending sync.WaitGroup
	ping, err := proto.Marshal(&wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{}}})
	if err != nil {
		c.T.Fatal(err)
	}
	sending.Go(func() { p.Pour(ping) })
	if code := p.Error(); code != "flood" {
		c.T.Errorf("%q", code)
	}
	sending.Wait()
}

func refusesMalformed(c *arenatest.Client) {
	welcome, err := proto.Marshal(&wire.ClientFrame{Body: &wire.ClientFrame_Input{Input: &wire.Input{}}})
	if err != nil {
		c.T.Fatal(err)
	}
	for name, first := range map[string][]byte{"garbage": {0xff, 0xff, 0xff}, "empty": {}, "no Join": welcome} {
		p := c.Connect()
		p.Write(websocket.MessageBinary, first)
		if code := p.Error(); code != "malformed" {
			c.T.Errorf("%s first: %q", name, code)
		}
	}
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	p.Write(websocket.MessageBinary, []byte{0x0a, 0x7f, 1})
	if code := p.Error(); code != "malformed" {
		c.T.Errorf("garbage later: %q", code)
	}
}

func refusesPages(c *arenatest.Client) {
	header := http.Header{"Origin": {"https://elsewhere.example"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	resp, _, err := servicetest.Exchange(http.DefaultClient, "GET", c.Program.URL+"/ws", "", header)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		c.T.Errorf("another site's page: %v, %v", resp, err)
	}
}
