package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

func behindLengths(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(m))), m...)
	}
	return out
}

func frame(t *testing.T, f *wire.ServerFrame) []byte {
	t.Helper()
	out, err := f.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLines(t *testing.T) {
	a := &State{Tick: 7, Entities: []game.Entity{{ID: 1, X: 5, Y: 31999, Dir: 64, HP: 100, Score: 3}}}
	a.Hash = game.Hash(a.Entities)
	b := &State{Tick: 8, Hash: game.Hash(nil)}
	shot := frame(t, &wire.ServerFrame{Body: &wire.ServerFrame_Snapshot{Snapshot: &wire.Snapshot{Tick: 9, Entities: []*wire.Entity{{Id: 2, X: -1, Hp: 50}}}}})
	pong := frame(t, &wire.ServerFrame{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{Tick: 8}}})
	const lineA, lineB, lineShot = `{"tick":7,"entities":[{"id":1,"x":5,"y":31999,"dir":64,"hp":100,"score":3}]}` + "\n", `{"tick":8,"entities":[]}` + "\n",
		`{"tick":9,"entities":[{"id":2,"x":-1,"y":0,"dir":0,"hp":50,"score":0}]}` + "\n"

	var out strings.Builder
	in := behindLengths(append([]byte{Framed}, pong...), message(1, a, nil, nil), append([]byte{Framed}, shot...), message(2, b, a, nil))
	if err := Lines(bytes.NewReader(in), &out); err != nil || out.String() != lineA+lineShot+lineB {
		t.Errorf("bits: %v\n%s", err, &out)
	}
	out.Reset()
	if err := SnapshotLines(bytes.NewReader(behindLengths(pong, shot, pong)), &out); err != nil || out.String() != lineShot {
		t.Errorf("proto: %v\n%s", err, &out)
	}

	good := behindLengths(message(1, a, nil, nil))
	for name, test := range map[string]struct{ in, want string }{
		"cut length":      {string(good) + "\x01\x00", "message 2, at byte 18: its length ends after 2 of 4 bytes"},
		"cut":             {string(good[:len(good)-1]), "message 1, at byte 0: it ends after 13 of 14 bytes"},
		"no body":         {"\x05\x00\x00\x00", "it ends after 0 of 5"},
		"long":            {"\x01\x00\x10\x00", "its length is 1048577"},
		"empty message":   {"\x00\x00\x00\x00", "begin with 1"},
		"not a frame":     {"\x02\x00\x00\x00\x00\xff", "ServerFrame"},
		"the second time": {string(good) + string(behindLengths([]byte{Packed, 0, 0})), "message 2, at byte 18: "},
	} {
		out.Reset()
		if err := Lines(strings.NewReader(test.in), &out); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(test.in, string(good)) && out.String() != lineA {
			t.Errorf("%s: %q before the error", name, &out)
		}
	}
	if err := Lines(bytes.NewReader(good), full{}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("no space")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func FuzzLines(f *testing.F) {
	s := &State{Tick: 7, Entities: []game.Entity{{ID: 1, HP: 100}}}
	s.Hash = game.Hash(s.Entities)
	f.Add(behindLengths(message(1, s, nil, nil)))
	f.Add(behindLengths([]byte{Framed, 18, 2, 8, 1}, []byte{18, 2, 8, 1}))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, lines := range []func() error{func() error { return Lines(bytes.NewReader(in), new(bytes.Buffer)) }, func() error { return SnapshotLines(bytes.NewReader(in), new(bytes.Buffer)) }} {
			if err := lines(); err != nil && !strings.HasPrefix(err.Error(), "message ") {
				t.Fatal(err)
			}
		}
	})
}
