package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

var update = flag.Bool("update", false, "write testdata/moves.json")

// node runs a script of testdata over the page's modules with an input, and returns what it prints.
func node(t *testing.T, script string, input []byte) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node in PATH, so the page's modules are not run; on Debian: apt-get install nodejs")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{script: string(text), "package.json": `{"type": "module"}`}
	for name, f := range load() {
		files[name] = f.text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), path, filepath.Join(dir, script))
	c.Stdin, c.Stderr = bytes.NewReader(input), &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, &stderr)
	}
	return out
}

// moves are the shared vectors: what the server's rules do, which the page's must do as well.
type moves struct {
	Moves  [][5]int64 `json:"moves"` // x, y, buttons; then x, y
	Hashes []hashed   `json:"hashes"`
}

type hashed struct {
	Entities [][6]int64 `json:"entities"` // id, x, y, dir, hp, score
	Hash     string     `json:"hash"`
}

// vectors makes them, always the same.
func vectors() (v moves) {
	r := rand.New(rand.NewPCG(1, 2))
	coordinate := func() int32 {
		switch r.IntN(4) {
		case 0:
			return r.Int32N(130)
		case 1:
			return game.Edge - r.Int32N(130)
		}
		return r.Int32N(game.Edge + 1)
	}
	for i := range 3000 {
		x, y, buttons := coordinate(), coordinate(), uint32(i%32)
		if i%100 == 99 {
			buttons = r.Uint32() // with bits that mean nothing
		}
		toX, toY := game.Move(x, y, buttons)
		v.Moves = append(v.Moves, [5]int64{int64(x), int64(y), int64(buttons), int64(toX), int64(toY)})
	}
	for n := range 20 {
		var entities []game.Entity
		h := hashed{Entities: [][6]int64{}}
		for id := range uint32(n) {
			e := game.Entity{ID: id + 1, X: coordinate(), Y: coordinate(), Dir: r.Uint32N(256), HP: r.Uint32N(101), Score: r.Uint32() >> r.IntN(32)}
			entities = append(entities, e)
			h.Entities = append(h.Entities, [6]int64{int64(e.ID), int64(e.X), int64(e.Y), int64(e.Dir), int64(e.HP), int64(e.Score)})
		}
		h.Hash = fmt.Sprintf("%016x", game.Hash(entities))
		v.Hashes = append(v.Hashes, h)
	}
	return v
}

// The page moves and hashes as the server does.
func TestMoves(t *testing.T) {
	want, err := json.Marshal(vectors())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "moves.json")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, want) {
		t.Fatalf("%s is not what the rules do now; if they changed on purpose: go test ./services/arena/page -update", path)
	}
	if got := node(t, "moves.mjs", kept); string(got) != "3000 moves, 20 hashes\n" {
		t.Errorf("the page differs:\n%s", got)
	}
}

// exchange is what the messages test gives to node, and what it answers.
type exchange struct {
	Server []message `json:"server"` // that the page reads
	Client []message `json:"client"` // that it writes
}

type message struct {
	Bytes []byte          `json:"bytes"`
	JSON  json.RawMessage `json:"json"`
}

// What the page writes is what the server reads, and the other way around; bytes that are not of a
// message are refused in one way.
func TestMessages(t *testing.T) {
	var in exchange
	for _, f := range []*wire.ServerFrame{
		{Body: &wire.ServerFrame_Welcome{Welcome: &wire.Welcome{EntityId: 7, Room: "Zürich", Resume: "T", Tick: 1 << 31, TickHz: 30, World: 1000, Scale: 32, TopSpeed: 120}}},
		{Body: &wire.ServerFrame_Snapshot{Snapshot: &wire.Snapshot{Tick: 4000000000, AckedSeq: 300, Hash: 0x0123456789abcdef, Entities: []*wire.Entity{
			{Id: 1, X: 31999, Y: -1, Dir: 255, Hp: 100, Score: 70000}, {Id: 255, X: -2147483648, Y: 2147483647}, {}}}}},
		{Body: &wire.ServerFrame_Snapshot{Snapshot: &wire.Snapshot{}}},
		{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{ClientMs: 1 << 52, ServerMs: 1764009000123, Tick: 9}}},
		{Body: &wire.ServerFrame_Error{Error: &wire.Error{Code: "room_full", Message: "…"}}},
		{Body: &wire.ServerFrame_Event{Event: &wire.GameEvent{TimestampMs: 1764009000123, EntityId: 255, ActionType: 2, Payload: wire.Place(3, -4, 31999)}}},
	} {
		in.Server = append(in.Server, said(t, f))
	}
	for _, f := range []*wire.ClientFrame{
		{Body: &wire.ClientFrame_Join{Join: &wire.Join{Token: "t", Name: "Ada ♥", Room: "r", Spectate: true, Resume: "s"}}},
		{Body: &wire.ClientFrame_Join{Join: &wire.Join{}}},
		{Body: &wire.ClientFrame_Input{Input: &wire.Input{Seq: 9, AckTick: 1 << 31, Commands: []*wire.Command{{Seq: 1, Buttons: 31, Aim: -5, ViewTick: 4000000000}, {Seq: 2, Aim: 65535}, {}}}}},
		{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{ClientMs: 1 << 52}}},
		{Body: &wire.ClientFrame_Leave{Leave: &wire.Leave{}}},
	} {
		in.Client = append(in.Client, said(t, f))
	}
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out exchange
	if err := json.Unmarshal(node(t, "messages.mjs", input), &out); err != nil {
		t.Fatal(err)
	}
	for i, m := range out.Server {
		if !same(t, m.JSON, in.Server[i].JSON) {
			t.Errorf("the page read %s as %s", in.Server[i].JSON, m.JSON)
		}
	}
	for i, m := range out.Client {
		got, want := new(wire.ClientFrame), new(wire.ClientFrame)
		if err := proto.Unmarshal(m.Bytes, got); err != nil {
			t.Errorf("the page wrote %x: %v", m.Bytes, err)
		}
		if err := proto.Unmarshal(in.Client[i].Bytes, want); err != nil || !proto.Equal(got, want) {
			t.Errorf("the page wrote %v, not %v", got, want)
		}
	}
	if len(out.Server) != len(in.Server) || len(out.Client) != len(in.Client) {
		t.Errorf("%d and %d answers", len(out.Server), len(out.Client))
	}
}

// said is a message in both forms.
func said(t *testing.T, m proto.Message) message {
	t.Helper()
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	object, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return message{text, object}
}

// same compares two JSON objects; numbers of 64 bits may be strings.
func same(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	for _, v := range []struct {
		text json.RawMessage
		to   *any
	}{{a, &x}, {b, &y}} {
		if err := json.Unmarshal(v.text, v.to); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
