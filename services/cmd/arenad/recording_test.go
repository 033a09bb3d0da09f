package main

import (
	"path/filepath"
	"testing"

	"dyno/parts/assembly"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/game"
	"dyno/services/arena/recording"
	"dyno/services/arena/wire"
)

// A room with bots, in which players come, go and play, replays to the same hashes.
func TestRecordedRoomReplays(t *testing.T) {
	data := t.TempDir()
	program := starter(t, assembly.Variant{Assembly: assembly.Tuned}, "--data", data)(t)
	c := &arenatest.Client{T: t, Program: program}
	room := c.Room(`{"capacity":8,"bots":4,"seed":7,"record":true}`)
	p := c.Join(&wire.Join{Room: room})
	p.Press(game.Right|game.Fire, 20)
	p.Acked()
	for range 2 {
		other := c.Join(&wire.Join{Room: room})
		other.Press(game.Up, 4)
		other.Acked()
		other.Leave()
	}
	p.Press(game.Down, 6)
	last := p.Acked()
	program.Stop()
	got, err := recording.Replay(filepath.Join(data, "recordings", room+".rec"))
	if err != nil || !got.OK || got.Incomplete != "" || got.Ticks < last.Tick || got.Hash != got.RecordedHash {
		t.Errorf("%+v, %v; a player saw tick %d", got, err, last.Tick)
	}
	if want := (recording.Header{Room: room, Seed: 7, Capacity: 8, Bots: 4}); got.Header != want {
		t.Errorf("%+v, want %+v", got.Header, want)
	}
}
