package main

import (
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/servicetest"
)

func TestBoard(t *testing.T) {
	p := starter(t, assembly.Variant{Assembly: assembly.Tuned})(t)
	defer p.Stop()
	servicetest.Board(t, p.Debug, "/debug/arena/")
}
