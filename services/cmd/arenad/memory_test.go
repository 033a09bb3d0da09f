package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/servicetest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// memory is the bytes of a server's heap, after a garbage collection, and of its stacks.
func memory(t *testing.T, p arenatest.Program) (sum int) {
	get := func(path string) string {
		_, text, err := servicetest.Exchange(http.DefaultClient, "GET", p.Debug+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	get("/debug/pprof/heap?gc=1")
	for line := range strings.Lines(get("/metrics")) {
		name, figure, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "go_memstats_heap_alloc_bytes" || name == "go_memstats_stack_inuse_bytes" {
			f, err := strconv.ParseFloat(figure, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += int(f)
		}
	}
	return sum
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
