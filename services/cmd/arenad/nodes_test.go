package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/freeport"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// node is a server of several.
type node struct {
	arenatest.Client
	process *process.Process
}

// fleetOf starts n servers that know one another.
func fleetOf(t *testing.T, n int) (nodes []*node) {
	program, err := exec.LookPath("arenad")
	if err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Loopback(2 * n)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		listen, cluster := ports[2*i].String(), ports[2*i+1].String()
		p, err := process.Start(context.Background(), process.Spec{ReadyLine: true, ReadyTimeout: servicetest.Patience, Command: []string{
			program, "serve", "--listen", listen, "--debug=127.0.0.1:0", "--data=" + t.TempDir(), "--lame-duck=0s", "--log-level=error",
			fmt.Sprint("--node=n", i), "--public-url=http://" + listen, "--cluster", cluster, "--route", ports[1].String(), "--cluster-secret", secret,
		}})
		if err != nil {
			t.Fatal(err)
		}
		one := &node{process: p}
		one.T, one.Program = t, arenatest.Program{URL: "http://" + listen, Debug: "http://" + p.Ready()["debug"]}
		t.Cleanup(func() {
			if one.process != nil {
				processtest.Stop(t, one.process)
			}
		})
		nodes = append(nodes, one)
	}
	return nodes
}

// lists awaits that a node lists the rooms of all, or no longer one.
func (n *node) lists(room, at string, there bool) {
	n.T.Helper()
	servicetest.Await(n.T, func() string { return fmt.Sprintf("%s in the list of %s: %v", room, n.Program.URL, there) }, func() bool {
		var rooms []struct{ ID, Node string }
		n.Call("GET", "/v1/rooms", "", &rooms)
		for _, r := range rooms {
			if r.ID == room && r.Node == at {
				return there
			}
		}
		return !there
	})
}

func TestNodes(t *testing.T) {
	nodes := fleetOf(t, 3)
	a, b := nodes[0], nodes[1]
	room := a.Room(`{"capacity":2}`)
	for _, n := range nodes {
		n.lists(room, a.Program.URL, true)
	}

	// A client goes to the node that owns its room.
	p := b.Connect()
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Room: room}}})
	if e := p.Receive().GetError(); e.GetCode() != "no_such_room" || !strings.Contains(e.GetMessage(), a.Program.URL) {
		t.Errorf("a Join at another node was answered by %v", e)
	}
	ada := a.Join(&wire.Join{Room: room, Name: "ada"})

	// One that comes back to another node is sent to its room, with its token unused.
	ada.Acknowledge(ada.Next().Tick)
	p = b.Connect()
	p.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Resume: ada.Welcome.Resume}}})
	if e := p.Receive().GetError(); e.GetCode() != "no_such_room" || !strings.Contains(e.GetMessage(), a.Program.URL) {
		t.Errorf("a resume at another node was answered by %v", e)
	}
	losesWelcomes(&a.Client, ada.Welcome.Resume)
	again := a.Join(&wire.Join{Resume: ada.Welcome.Resume})
	if again.Welcome.EntityId != ada.Welcome.EntityId {
		t.Errorf("%v after %v", again.Welcome, ada.Welcome)
	}
	ada = again

	// A match, presence and chat know no borders.
	var place struct{ Room, Token, URL, Ticket string }
	servicetest.Await(t, func() string { return fmt.Sprintf("a place in the room of another node: %+v", place) }, func() bool {
		body, err := json.Marshal(map[string]any{"name": "bob", "skill": 3, "ticket": place.Ticket})
		if err != nil {
			t.Fatal(err)
		}
		status := b.Call("POST", "/v1/match", string(body), &place)
		return status == http.StatusOK && place.Room == room && place.URL == a.Program.URL
	})
	var same struct{ Room, Token, URL string }
	if place.Ticket != "" { // the answer may be lost, and the Welcome, too
		b.Call("POST", "/v1/match", fmt.Sprintf(`{"ticket":%q}`, place.Ticket), &same)
		if same.Token != place.Token {
			t.Errorf("the place is %v, asked again %v", place, same)
		}
	}
	lost := a.Open()
	lost.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Room: room, Token: place.Token}}})
	lost.Find(arenatest.Binary)
	bob := a.Join(&wire.Join{Room: room, Token: place.Token})
	if code := a.Refused(&wire.Join{Room: room}); code != "room_full" {
		t.Errorf("a third player of two: %q", code)
	}
	servicetest.Await(t, func() string { return "presence of bob" }, func() bool {
		var found []struct{ Room, Node string }
		nodes[2].Call("GET", "/v1/players/bob", "", &found)
		return len(found) == 1 && found[0].Room == room && found[0].Node == a.Program.URL
	})
	other := b.Join(&wire.Join{Room: b.Room(`{}`)})
	bob.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Event{Event: &wire.GameEvent{ActionType: wire.ActionLobby, Payload: []byte("hello")}}})
	for _, hears := range []*arenatest.Player{ada, other} {
		if e := hears.Event(wire.ActionLobby); string(e.Payload) != "bob: hello" {
			t.Errorf("heard %v", e)
		}
	}

	// A node that dies takes its rooms, and no others.
	a.process.Kill()
	a.process = nil
	b.lists(room, a.Program.URL, false)
	nodes[2].lists(other.Welcome.Room, b.Program.URL, true)
	other.Next()
}
