package main

import (
	"net/http"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// memory is the bytes of a server's heap, after a garbage collection, and of its stacks.
func memory(t *testing.T, p arenatest.Program) int {
	if _, _, err := servicetest.Exchange(http.DefaultClient, "GET", p.Debug+"/debug/pprof/heap?gc=1", "", nil); err != nil {
		t.Fatal(err)
	}
	return int(servicetest.Metric(t, p.Debug, "go_memstats_heap_alloc_bytes") + servicetest.Metric(t, p.Debug, "go_memstats_stack_inuse_bytes"))
}

// A connection that watches an empty room costs little memory beyond the kernel's.
func TestIdleMemory(t *testing.T) {
	program := starter(t, assembly.Variant{Assembly: assembly.Tuned})(t)
	t.Cleanup(program.Stop)
	c := &arenatest.Client{T: t, Program: program}
	room := c.Room(`{}`)
	const few, many, bound = 50, 500, 6 << 10
	watch := func(n int) {
		for range n {
			c.Join(&wire.Join{Room: room, Spectate: true})
		}
	}
	watch(few)
	before := memory(t, program)
	watch(many)
	each := (memory(t, program) - before) / many
	t.Logf("%d bytes a connection", each)
	if each > bound {
		t.Errorf("an idle connection takes %d bytes, more than %d", each, bound)
	}
}
