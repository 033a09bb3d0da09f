package delta

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"dyno/services/arena/game"
)

var update = flag.Bool("update", false, "write testdata/vectors.json")

// vectors are messages that decoders in other languages must understand.
type vectors struct {
	Streams []stream  `json:"streams"` // of a connection each
	Refused []refusal `json:"refused"`
}

type stream struct {
	Name   string   `json:"name"`
	States []vector `json:"states"`
}

type vector struct {
	Message  string `json:"message"`
	Tick     uint32 `json:"tick"`
	Acked    uint32 `json:"acked"`
	Entities int    `json:"entities"` // how many
	Hash     string `json:"hash"`
}

// refusal is a message that a decoder refuses after the first states of a stream.
type refusal struct {
	Name    string `json:"name"`
	Stream  int    `json:"stream"`
	After   int    `json:"after"`
	Message string `json:"message"`
}

// room is a world in which players join and leave.
type room struct {
	world   *game.World
	random  *rand.Rand
	command func(w *game.World, id uint32) game.Command
}

func (r *room) tick() {
	switch r.random.IntN(12) {
	case 0:
		r.world.Join()
	case 1:
		r.world.Leave(r.random.Uint32N(16))
	}
	for id := range uint32(game.MaxPlayers) {
		for range r.random.IntN(8) / 7 * r.random.IntN(3) { // the rare player that is late, or catches up
			r.world.Apply(id, r.command(r.world, id))
		}
		for range game.PerTick {
			r.world.Apply(id, r.command(r.world, id))
		}
	}
	r.world.Step()
	r.world.Events()
}

func newStream(name string, count int, next func() *State) stream {
	out := stream{Name: name}
	var base, before *State
	for i := range count {
		now, acked := next(), uint32(i*i*i)
		out.States = append(out.States, vector{
			Message: hex.EncodeToString(message(acked, now, base, before)), Tick: now.Tick, Acked: acked,
			Entities: len(now.Entities), Hash: fmt.Sprintf("%016x", now.Hash),
		})
		base, before = now, base
	}
	return out
}

// odd returns states with values that the game has not.
func odd(random *rand.Rand) func() *State {
	now := State{}
	return func() *State {
		values := []uint32{0, 1, 255, 256, game.Full, 1 << 15, math.MaxInt32, 1 << 31, math.MaxUint32, random.Uint32(), random.Uint32N(game.Edge)}
		value := func() uint32 { return values[random.IntN(len(values))] }
		var next []game.Entity
		for id := range uint32(12) {
			e := game.Entity{ID: id * id * id * id * 293000, X: int32(value()), Y: int32(value()), Dir: value(), HP: value(), Score: value()}
			for _, was := range now.Entities {
				if was.ID == e.ID && random.IntN(4) > 0 {
					dir := e.Dir
					e = was
					e.X += int32(random.IntN(3)) * 1000
					if random.IntN(4) == 0 {
						e.Dir = dir
					}
				}
			}
			if random.IntN(6) > 0 {
				next = append(next, e)
			}
		}
		now = State{Tick: now.Tick + 1 + random.Uint32N(3), Entities: next, Hash: game.Hash(next)}
		s := now
		return &s
	}
}

func makeVectors() vectors {
	var v vectors
	for _, name := range []string{"random", "keyboard", "keyboard and mouse", "bots"} {
		command := (*game.World).Bot
		if motion, ok := motions[name]; ok {
			command = play(motion)
		}
		for _, gaps := range []bool{false, true} {
			r := room{game.New(3), rand.New(rand.NewPCG(1, 2)), command}
			for range 8 {
				r.world.Join()
			}
			title := name
			if gaps {
				title += ", some ticks missing"
			}
			v.Streams = append(v.Streams, newStream(title, 50, func() *State {
				for range 1 + r.random.IntN(2)*r.random.IntN(4)*r.random.IntN(30) {
					r.tick()
					if !gaps {
						break
					}
				}
				return stateOf(r.world)
			}))
		}
	}
	v.Streams = append(v.Streams, newStream("values that the game has not", 100, odd(rand.New(rand.NewPCG(3, 4)))))
	const known = 20
	m, err := hex.DecodeString(v.Streams[0].States[known].Message)
	if err != nil {
		panic(err)
	}
	otherHash := slices.Clone(m)
	otherHash[1+len(binary.AppendUvarint(nil, uint64(v.Streams[0].States[known].Acked)))+1] ^= 1
	for _, bad := range []struct {
		name    string
		after   int
		message []byte
	}{
		{"a byte less", known, m[:len(m)-1]}, {"a byte more", known, append(slices.Clone(m), 0)}, {"only its kind", known, m[:1]},
		{"Protobuf", known, []byte{0}}, {"another hash", known, otherHash}, {"no base", 0, m}, {"another base", known - 1, m},
		{"a million entities", 0, append([]byte{Packed, 0, 0x80, 0, 0, 0, 0, 0, 0x01, 0xff}, make([]byte, 100)...)},
		{"zeros", known, []byte{Packed, 0, 0, 0, 0, 0, 0, 0, 0}}, {"a sequence of 33 bits", 0, []byte{Packed, 255, 255, 255, 255, 127, 0}},
	} {
		v.Refused = append(v.Refused, refusal{bad.name, 0, bad.after, hex.EncodeToString(bad.message)})
	}
	return v
}

// The vectors are what this package encodes, and it decodes them as they say.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.json"
	v := makeVectors()
	want, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what is encoded: if the bits have another meaning now, run go test ./delta -run TestVectors -update", file)
	}
	decode := func(d *Decoder, m string) (*State, uint32, error) {
		b, err := hex.DecodeString(m)
		if err != nil {
			t.Fatal(err)
		}
		return d.Decode(b)
	}
	for _, s := range v.Streams {
		var d Decoder
		for i, want := range s.States {
			got, acked, err := decode(&d, want.Message)
			if err != nil || got.Tick != want.Tick || acked != want.Acked || len(got.Entities) != want.Entities || fmt.Sprintf("%016x", got.Hash) != want.Hash {
				t.Fatalf("%s, message %d: %+v, %v", s.Name, i, got, err)
			}
		}
	}
	for _, bad := range v.Refused {
		var d Decoder
		for _, s := range v.Streams[bad.Stream].States[:bad.After] {
			if _, _, err := decode(&d, s.Message); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := decode(&d, bad.Message); err == nil {
			t.Errorf("%s: no error", bad.Name)
		}
	}
}

// The page's decoder decodes the vectors.
func TestJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on the path (apt-get install nodejs)")
	}
	args := []string{"testdata/check.mjs", "../page/web/bits.js", "testdata/vectors.json"}
	for _, file := range args { // go test must know that it depends on them
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(node, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
