package delta

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/services/arena/game"
	"pgregory.net/rapid"
)

// anything draws an entity with any values, often those at the ends of their ranges.
func anything(t *rapid.T, id uint32) game.Entity {
	coordinate := rapid.OneOf(rapid.Int32Range(0, game.Edge), rapid.Int32(), rapid.SampledFrom([]int32{0, game.Edge, -1, 1 << placeBits, math.MinInt32, math.MaxInt32}))
	field := rapid.OneOf(rapid.Uint32Range(0, 255), rapid.Uint32(), rapid.SampledFrom([]uint32{0, 255, 256, game.Full, math.MaxUint32}))
	return game.Entity{ID: id, X: coordinate.Draw(t, "x"), Y: coordinate.Draw(t, "y"),
		Dir: field.Draw(t, "dir"), HP: field.Draw(t, "hp"), Score: field.Draw(t, "score")}
}

// change draws what becomes of entities in a tick: they go on, take other steps, jump, change all
// of their fields, leave; others join.
func change(t *rapid.T, in []game.Entity) []game.Entity {
	out := make([]game.Entity, 0, len(in)+2)
	for _, e := range in {
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0:
			continue
		case 1:
			e = anything(t, e.ID)
		case 2:
			e.X += rapid.Int32Range(-300, 300).Draw(t, "dx")
			e.Y += rapid.Int32().Draw(t, "dy")
		case 3:
			e.HP -= 25
			e.Score += 5
		case 4:
			e.Dir = rapid.Uint32Range(0, 7).Draw(t, "heading") * eighth
		default:
			for range rapid.IntRange(0, 4).Draw(t, "commands") {
				e.X, e.Y = game.Move(e.X, e.Y, rapid.Uint32Range(0, 15).Draw(t, "buttons"))
			}
		}
		out = append(out, e)
	}
	for range rapid.IntRange(0, 2).Draw(t, "joined") {
		id := rapid.OneOf(rapid.Uint32Range(0, 20), rapid.SampledFrom([]uint32{math.MaxUint32, 1 << 31})).Draw(t, "id")
		if i, found := slices.BinarySearchFunc(out, id, func(e game.Entity, id uint32) int { return int(int64(e.ID) - int64(id)) }); !found {
			out = slices.Insert(out, i, anything(t, id))
		}
	}
	return out
}

// Clients that receive each tick and clients that miss any number of them decode what is.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base, before *State
		var d Decoder
		now := &State{Tick: rapid.Uint32().Draw(t, "first tick")}
		steps := rapid.IntRange(1, 30).Draw(t, "messages")
		for range steps {
			next := now.Tick + rapid.OneOf(rapid.Just(uint32(1)), rapid.Uint32Range(1, 100), rapid.Uint32()).Draw(t, "gap")
			now = &State{Tick: next, Entities: change(t, now.Entities)}
			now.Hash = game.Hash(now.Entities)
			if rapid.IntRange(0, 9).Draw(t, "again") == 0 {
				base, before = nil, nil // the room begins again with a full state
			}
			acked := rapid.Uint32().Draw(t, "acked")
			m := message(acked, now, base, before)
			if full := message(acked, now, nil, nil); len(m) > len(full) {
				t.Fatalf("%d bytes, the full state has %d", len(m), len(full))
			}
			got, gotAcked, err := d.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			if got.Tick != now.Tick || gotAcked != acked || got.Hash != now.Hash || !slices.Equal(got.Entities, now.Entities) {
				t.Fatalf("%+v is decoded, not %+v", got, now)
			}
			base, before = now, base
		}
	})
}

// What another decoder has is not what a message differs from.
func TestWrongBase(t *testing.T) {
	w := game.New(1)
	var states []*State
	for range 40 {
		w.Join()
		for id := range uint32(10) {
			w.Apply(id, w.Bot(id))
		}
		w.Step()
		states = append(states, stateOf(w))
	}
	have := func(i ...int) *Decoder {
		d := new(Decoder)
		var base, before *State
		for _, i := range i {
			if _, _, err := d.Decode(message(0, states[i], base, before)); err != nil {
				t.Fatal(err)
			}
			base, before = states[i], base
		}
		return d
	}
	m := message(7, states[30], states[29], states[28])
	for name, d := range map[string]*Decoder{"none": have(), "one": have(29), "another base": have(27, 28), "an older base": have(10, 11), "another before": have(27, 29)} {
		if _, _, err := d.Decode(m); !errors.Is(err, errAhead) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := have(12, 13).Decode(m); err == nil {
		t.Error("a base 16 ticks older: no error")
	}
	if _, _, err := have(14, 13, 29).Decode(message(0, states[30], states[29], nil)); err != nil {
		t.Errorf("a state before that the sender does not use: %v", err)
	}
	d := have(28, 29)
	wrong := bytes.Clone(m)
	wrong[2] ^= 1 // of the hash
	if _, _, err := d.Decode(wrong); err == nil || !strings.Contains(err.Error(), "hash") {
		t.Errorf("another hash: %v", err)
	}
	if got, acked, err := d.Decode(m); err != nil || acked != 7 || got.Tick != 31 {
		t.Errorf("after an error: %v, %d, %v", got, acked, err)
	}
}

func TestBadMessages(t *testing.T) {
	one := State{Tick: 1, Entities: []game.Entity{{ID: 1}}}
	one.Hash = game.Hash(one.Entities)
	good := message(0, &one, nil, nil)
	for name, test := range map[string]struct {
		in   []byte
		want string
	}{
		"empty":           {nil, "begin"},
		"protobuf":        {[]byte{0, 18, 0}, "begin"},
		"no sequence":     {[]byte{1}, "varint"},
		"large sequence":  {[]byte{1, 255, 255, 255, 255, 127, 0}, "varint"},
		"only that":       {[]byte{1, 0}, "end within"},
		"cut":             {good[:len(good)-2], "bits"},
		"more":            {append(bytes.Clone(good), 0), "more behind"},
		"a million":       {append([]byte{1, 0, 0x80, 0, 0, 0, 0, 0, 0x01, 0xff}, make([]byte, 100)...), "at most"},
		"more than bits":  {[]byte{1, 0, 0x80, 0, 0, 0, 0x00, 0x7f, 0xff, 0}, "entities in"},
		"base, none here": {[]byte{1, 0, 0x00, 0x60, 0x00}, "difference"},
	} {
		if _, _, err := new(Decoder).Decode(test.in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode decodes any message, first as a full state and then as a difference from a state.
func FuzzDecode(f *testing.F) {
	w := game.New(1)
	states := make([]*State, 3)
	for i := range states {
		for id := range w.Join() + 2 {
			w.Apply(id, w.Bot(id))
		}
		w.Step()
		states[i] = stateOf(w)
	}
	f.Add(message(1, states[0], nil, nil))
	f.Add(message(1, states[1], states[0], nil))
	f.Add(message(200, states[2], states[1], states[0]))
	f.Add([]byte{1, 0, 0x80, 0, 0, 0, 0x0f, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, m []byte) {
		for known := range 3 {
			var d Decoder
			var base, before *State
			for _, s := range states[:known] {
				if _, _, err := d.Decode(message(0, s, base, before)); err != nil {
					t.Fatal(err)
				}
				base, before = s, base
			}
			got, _, err := d.Decode(m)
			if err != nil {
				if d.known != known || known > 0 && d.last(0).Hash != base.Hash {
					t.Fatal("an error changed what the decoder has")
				}
				continue
			}
			if got.Hash != game.Hash(got.Entities) || len(got.Entities) > MaxEntities {
				t.Fatalf("%d entities", len(got.Entities))
			}
			for i := 1; i < len(got.Entities); i++ {
				if got.Entities[i-1].ID >= got.Entities[i].ID {
					t.Fatalf("entity %d is before %d", got.Entities[i-1].ID, got.Entities[i].ID)
				}
			}
		}
	})
}
