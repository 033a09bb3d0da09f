package state_test

import (
	"testing"

	"dyno/services/chain/flat"
	"dyno/services/chain/state"
)

// opener opens the states in a folder.
type opener func(t testing.TB, dir string, rootEvery uint64, boundary int) state.States

// kinds are the ways to keep states. The first is the reference.
var kinds = []struct {
	name string
	open opener
}{
	{"statedb", func(t testing.TB, dir string, rootEvery uint64, _ int) state.States {
		s, err := state.OpenStateDB(dir, state.Options{RootEvery: rootEvery})
		return must(t, s, err)
	}},
	{"flat", func(t testing.TB, dir string, rootEvery uint64, boundary int) state.States {
		s, err := flat.Open(dir, flat.Options{RootEvery: rootEvery, Boundary: boundary})
		return must(t, s, err)
	}},
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
