package main

import (
	"sync"
	"testing"

	"dyno/parts/assembly"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// A server that stops says so to all clients: those that play, those that watch and send nothing,
// and those that have not joined yet.
func TestStopsWithClients(t *testing.T) {
	for _, name := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := starter(t, assembly.Variant{Assembly: name})(t)
			c := &arenatest.Client{T: t, Program: program}
			room := c.Room(`{"bots":3}`)
			players := []*arenatest.Player{c.Connect(), c.Join(&wire.Join{Room: room}), c.Join(&wire.Join{Room: room, Spectate: true})}
			players[1].Press(8, 2)
			players[1].Acked()
			var reading sync.WaitGroup
			codes := make([]int, len(players))
			for i, p := range players {
				reading.Go(func() {
					codes[i] = p.Ended()
					p.Lose()
				})
			}
			program.Stop()
			reading.Wait()
			for i, code := range codes {
				if code != 1001 {
					t.Errorf("client %d: close code %d", i, code)
				}
			}
		})
	}
}
