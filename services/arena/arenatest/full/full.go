// Package full holds the tests of what arenad does beyond what the plain program does (package
// core): frames that a library cannot end with a code, inputs that are refused and counted, slow
// clients, the debug address, and chat. Where a test needs a player's token, it is not here.
package full

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// Test runs all of it.
func Test(t *testing.T, start arenatest.Start) {
	arenatest.Run(t, start, map[string]arenatest.Case{
		"ends broken frames with a code":  endsBroken,
		"ends broken handshakes":          endsHandshakes,
		"survives 10,000 broken messages": survives,
		"ends floods of pings":            endsPings,
		"does what came before the end":   leavesAndEnds,
		"refuses broken requests":         refusesRequests,
		"lists rooms":                     lists,
		"shows states on debug":           showsStates,
		"counts what it refuses":          counts,
		"knows who was heard":             remembers,
		"passes chat on":                  chats,
		"keeps nothing for a slow client": conflates,
		"gives a bot's place to a player": replacesBots,
		"takes a body from a live socket": takesOver,
	})
	// On a program of its own, as it fills the rooms of others.
	arenatest.Run(t, start, map[string]arenatest.Case{"matches players by skill": matches})
}

func endsBroken(c *arenatest.Client) {
	const final, bin, ping = arenatest.Final, arenatest.Binary, arenatest.Ping
	unmasked := arenatest.Frame(final|bin, []byte{1, 2})
	unmasked[1] &^= 0x80
	long := func(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{final | bin, 0x80 | 127}, n) }
	for name, test := range map[string]struct {
		send []byte
		code int
	}{
		"no mask":                   {unmasked, 1002},
		"ping without mask":         {[]byte{final | ping, 0}, 1002},
		"16 EiB":                    {long(1<<64 - 1), 1002},
		"8 EiB":                     {long(1 << 62), 1009},
		"4097 bytes in the header":  {[]byte{final | bin, 0x80 | 126, 0x10, 0x01}, 1009},
		"a text that is no UTF-8":   {arenatest.Frame(final|arenatest.Text, []byte{0xff}), 1007},
		"a reason that is no UTF-8": {arenatest.Frame(final|arenatest.Close, []byte{3, 0xe8, 0xff}), 1007},
	} {
		r := c.Raw()
		r.Write(test.send)
		if got := r.CloseCode(); got != test.code {
			c.T.Errorf("%s: close code %d, not %d", name, got, test.code)
		}
	}
}

func endsHandshakes(c *arenatest.Client) {
	for name, test := range map[string]struct {
		change http.Header
		status int
	}{
		"no upgrade":    {http.Header{"Upgrade": nil}, http.StatusUpgradeRequired},
		"version 12":    {http.Header{"Sec-Websocket-Version": {"12"}}, http.StatusUpgradeRequired},
		"a short key":   {http.Header{"Sec-Websocket-Key": {"YQ=="}}, http.StatusBadRequest},
		"two keys":      {http.Header{"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="}}, http.StatusBadRequest},
		"a foreign one": {http.Header{"Origin": {"https://elsewhere.example"}}, http.StatusForbidden},
	} {
		header := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
		for key, values := range test.change {
			header[key] = values
		}
		resp, _, err := servicetest.Exchange(http.DefaultClient, "GET", c.Program.URL+"/ws", "", header)
		if err != nil || resp.StatusCode != test.status {
			c.T.Errorf("%s: %v, %v; want status %d", name, resp, err, test.status)
		}
	}
}

// endsPings sends more pings than a client may send messages: each has an answer, and would hold
// up the others in the room.
func endsPings(c *arenatest.Client) {
	r := c.Raw()
	r.Write(bytes.Repeat(arenatest.Frame(arenatest.Final|arenatest.Ping, nil), 1000))
	if got := r.CloseCode(); got != 1008 {
		c.T.Errorf("close code %d", got)
	}
}

// leavesAndEnds sends a Join and a Leave together, and ends the connection.
func leavesAndEnds(c *arenatest.Client) {
	room := c.Room(`{}`)
	var text []byte
	for _, f := range []*wire.ClientFrame{
		{Body: &wire.ClientFrame_Join{Join: &wire.Join{Room: room}}}, {Body: &wire.ClientFrame_Leave{Leave: &wire.Leave{}}},
	} {
		message, err := f.MarshalVT()
		if err != nil {
			c.T.Fatal(err)
		}
		text = append(text, arenatest.Frame(arenatest.Final|arenatest.Binary, message)...)
	}
	r := c.Open()
	r.Write(text)
	r.End()
	r.CloseCode()
	servicetest.Await(c.T, func() string { return "the player leaves" }, func() bool { return c.Listed(room).Players == 0 })
}

func refusesRequests(c *arenatest.Client) {
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/rooms", `{}}`, 400}, {"POST", "/v1/rooms", `null`, 400}, {"POST", "/v1/rooms", `{}{}`, 400}, {"POST", "/v1/rooms", `[]`, 400}, {"POST", "/v1/rooms", ``, 400},
		{"GET", "/v1/match", ``, 405}, {"DELETE", "/v1/rooms", ``, 405}, {"GET", "/v1/none", ``, 404},
	} {
		var why struct{ Error string }
		if status := c.Call(test.method, test.path, test.body, &why); status != test.status || why.Error == "" {
			c.T.Errorf("%s %s %s: status %d, %q", test.method, test.path, test.body, status, why.Error)
		}
	}
}

// lists has the fields of the contract, and no others.
func lists(c *arenatest.Client) {
	c.Room(`{}`)
	var rooms []map[string]any
	c.Call("GET", "/v1/rooms", "", &rooms)
	want := []string{"capacity", "hz", "id", "players", "spectators", "tick"}
	for _, r := range rooms {
		if got := slices.Sorted(maps.Keys(r)); !slices.Equal(got, want) {
			c.T.Fatalf("a room has the fields %q, not %q", got, want)
		}
	}
}

// survives sends messages of random bytes, each on a connection that has joined.
func survives(c *arenatest.Client) {
	n := 200
	if !testing.Short() {
		n = 10_000
	}
	random := uint64(1)
	for i := range n {
		message := make([]byte, i%61)
		for k := range message {
			random = random*6364136223846793005 + 1442695040888963407
			message[k] = byte(random >> 56)
		}
		c.Once(message)
	}
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	p.Next()
	p.Leave()
}

func showsStates(c *arenatest.Client) {
	room := c.Room(`{"bots":5}`)
	p := c.Join(&wire.Join{Room: room})
	s := p.Next()
	for range 10 {
		p.Next()
	}
	var got struct {
		Tick     uint32
		Hash     string
		Entities []struct{ ID, X, Y, Dir, HP, Score int32 }
	}
	_, text, err := servicetest.Exchange(http.DefaultClient, "GET", fmt.Sprintf("%s/debug/arena/rooms/%s?tick=%d", c.Program.Debug, room, s.Tick), "", nil)
	if err != nil {
		c.T.Fatal(err)
	}
	arenatest.Decode(c.T, text, &got)
	if got.Tick != s.Tick || got.Hash != fmt.Sprintf("%016x", s.Hash) || len(got.Entities) != 6 || got.Entities[5].X != s.Entities[5].X {
		c.T.Errorf("tick %d with hash %x is %s", s.Tick, s.Hash, text)
	}
	for path, want := range map[string]int{"none": 404, room + "?tick=4000000000": 404, room + "?tick=x": 400, room: 200} {
		resp, _, err := servicetest.Exchange(http.DefaultClient, "GET", c.Program.Debug+"/debug/arena/rooms/"+path, "", nil)
		if err != nil || resp.StatusCode != want {
			c.T.Errorf("%s: %v, %v; want status %d", path, resp, err, want)
		}
	}
}

// remembers sends heartbeats, of which some are refused. Other tests send none.
func remembers(c *arenatest.Client) {
	for body, want := range map[string]int{
		`{"player_id":"full-1"}`: 200, `{"player_id":"full-2"}`: 200, ` { "player_id": 7 }`: 200, `{"player_id":"7"}`: 200,
		`{}`: 400, `{"player_id":[]}`: 400, `{"player_id":7}}`: 400, `{"player_id":7,"x":1}`: 400, `{"player_id":"` + strings.Repeat("x", 65) + `"}`: 400,
		strings.Repeat(" ", 4097): 413,
	} {
		var why struct{ Error string }
		if status := c.Call("POST", "/api/heartbeat", body, &why); status != want || (why.Error == "") != (want == 200) {
			c.T.Errorf("%.50s: status %d, %q; want %d", body, status, why.Error, want)
		}
	}
	_, text, err := servicetest.Exchange(http.DefaultClient, "GET", c.Program.Debug+"/debug/arena/presence", "", nil)
	if want := `{"players":3,"within_s":30}`; err != nil || strings.TrimSpace(string(text)) != want {
		c.T.Errorf("%s, %v; want %s", text, err, want)
	}
	if n := servicetest.Metric(c.T, c.Program.Debug, "arena_present_players"); n != 3 {
		c.T.Errorf("%v players in /metrics", n)
	}
}

func counts(c *arenatest.Client) {
	repeated, hurried := `arena_rejected_inputs_total{reason="repeated"}`, `arena_rejected_inputs_total{reason="hurried"}`
	before, hurry := servicetest.Metric(c.T, c.Program.Debug, repeated), servicetest.Metric(c.T, c.Program.Debug, hurried)
	p := c.Join(&wire.Join{Room: c.Room(`{}`)})
	p.Press(8, 2)
	p.Commands([]*wire.Command{{Seq: 1, Buttons: 8}, {Seq: 2, Buttons: 8}})
	p.Press(8, 100)
	p.Acked()
	if got := servicetest.Metric(c.T, c.Program.Debug, repeated) - before; got < 2 {
		c.T.Errorf("%v commands were counted as repeated", got)
	}
	if got := servicetest.Metric(c.T, c.Program.Debug, hurried) - hurry; got < 80 {
		c.T.Errorf("%v commands were counted as ahead of time", got)
	}
	if servicetest.Metric(c.T, c.Program.Debug, "arena_connections") < 1 || servicetest.Metric(c.T, c.Program.Debug, "arena_tick_lateness_seconds_count") < 1 || servicetest.Metric(c.T, c.Program.Debug, "go_goroutines") < 1 {
		c.T.Error("metrics lack a figure")
	}
}

func chats(c *arenatest.Client) {
	room := c.Room(`{}`)
	p, other := c.Join(&wire.Join{Room: room, Name: "ada"}), c.Join(&wire.Join{Room: room, Name: "bob"})
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Event{Event: &wire.GameEvent{ActionType: wire.ActionChat, Payload: []byte("hello"), EntityId: 77}}})
	if e := other.Event(wire.ActionChat); string(e.Payload) != "hello" || e.EntityId != p.Welcome.EntityId || e.TimestampMs == 0 {
		c.T.Errorf("heard %v", e)
	}
	late := c.Join(&wire.Join{Room: room})
	for range 2 {
		e := late.Event(wire.ActionName)
		if want := map[uint32]string{p.Welcome.EntityId: "ada", other.Welcome.EntityId: "bob"}[e.EntityId]; string(e.Payload) != want {
			c.T.Errorf("player %d is called %q, not %q", e.EntityId, e.Payload, want)
		}
	}
}

// conflates stops reading: the server keeps little for the client, and after a while it receives
// states of now.
func conflates(c *arenatest.Client) {
	room := c.Room(`{"bots":49,"capacity":50}`)
	p, other := c.Join(&wire.Join{Room: room}), c.Join(&wire.Join{Room: room})
	p.Acknowledge(p.Next().Tick)
	for range 30 * 5 { // ticks
		other.Next()
	}
	if got := servicetest.Metric(c.T, c.Program.Debug, "arena_out_queue_bytes"); got > 64<<10 {
		c.T.Errorf("%v bytes wait for clients", got)
	}
	now, states := other.Next().Tick, 0
	for p.Next().Tick < now {
		states++
	}
	if states > 60 { // 1 s of all, and 2 a second from then on
		c.T.Errorf("%d old states came first", states)
	}
	for each := 0; each < 5; { // states in sequence, now that it has the newest
		p.Acknowledge(p.Last.Tick)
		before := p.Last.Tick
		if each++; p.Next().Tick != before+1 {
			each = 0
		}
	}
}

func replacesBots(c *arenatest.Client) {
	room := c.Room(`{"bots":3,"capacity":3}`)
	p := c.Join(&wire.Join{Room: room})
	if got := c.Listed(room).Players; got != 3 {
		c.T.Errorf("%d players", got)
	}
	p.Leave()
	servicetest.Await(c.T, func() string { return "a bot takes the place" }, func() bool { return c.Listed(room).Players == 3 })
}

func matches(c *arenatest.Client) {
	type answer struct{ Room, Token, Ticket string }
	ask := func(body string) (a answer) {
		if status := c.Call("POST", "/v1/match", body, &a); status != http.StatusOK && status != http.StatusAccepted {
			c.T.Fatalf("POST /v1/match %s: status %d", body, status)
		}
		return a
	}
	first, second := ask(`{"name":"ada","skill":100000}`), ask(`{"name":"bob","skill":100010}`)
	if first.Ticket != "" {
		first = ask(fmt.Sprintf(`{"ticket":%q}`, first.Ticket))
	}
	if first.Room == "" || first.Room != second.Room || first.Token == second.Token {
		c.T.Fatalf("two of a skill: %+v and %+v", first, second)
	}
	for _, a := range []answer{first, second} {
		p := c.Join(&wire.Join{Room: a.Room, Token: a.Token})
		if want := map[string]string{first.Token: "ada", second.Token: "bob"}[a.Token]; p.Welcome.Room != a.Room || p.NameOf(p.Welcome.EntityId) != want {
			c.T.Errorf("%+v joined %v", a, p.Welcome)
		}
	}
	var why struct{ Error string }
	for body, want := range map[string]int{`{"ticket":"none"}`: http.StatusNotFound, `{"skill":"high"}`: http.StatusBadRequest, `{"name":"\u0007"}`: http.StatusBadRequest} {
		if status := c.Call("POST", "/v1/match", body, &why); status != want || why.Error == "" {
			c.T.Errorf("%s: status %d, %q", body, status, why.Error)
		}
	}
}

// takesOver resumes while the old socket is open: a client may know of its loss before the server.
func takesOver(c *arenatest.Client) {
	room := c.Room(`{}`)
	p := c.Join(&wire.Join{Room: room})
	back := c.Join(&wire.Join{Resume: p.Welcome.Resume})
	if back.Welcome.EntityId != p.Welcome.EntityId || back.Welcome.Room != room || back.Welcome.Resume == p.Welcome.Resume {
		c.T.Errorf("%v after %v", back.Welcome, p.Welcome)
	}
	back.Press(8, 2)
	back.Acked()
	p.Ended()
	if got := c.Listed(room).Players; got != 1 {
		c.T.Errorf("%d players", got)
	}
}
