package view

import (
	"testing"

	"dyno/lab/record"
)

// TestTooManyGraphsAreSaid: graphs that fit under no share are left out.
func TestTooManyGraphsAreSaid(t *testing.T) {
	f := &Profiles{Graphs: make([]Flame, 3)}
	var trees []*frame
	for range 3 {
		p := &record.Profile{}
		for i := range 40 {
			s := record.Stack{Value: 1}
			for depth := range maxDepth {
				s.Frames = append(s.Frames, record.Frame{Function: string(rune('a'+i)) + string(rune('a'+depth))})
			}
			p.Stacks = append(p.Stacks, s, s, s)
		}
		trees = append(trees, newFrames(p, 1))
	}
	for len(trees) < 9 {
		trees, f.Graphs = append(trees, trees[0]), append(f.Graphs, Flame{})
	}
	f.write(trees)
	if want := maxNodes / (40 * maxDepth); len(f.Graphs) != want || f.Left != 9-want {
		t.Errorf("%d graphs, %d left out, want %d", len(f.Graphs), f.Left, want)
	}
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		function, file string
		want           int
	}{
		{"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", originStd},
		{"net/http.(*conn).serve", "net/http/server.go", originStd},
		{"runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", originRuntime},
		{"internal/runtime/maps.(*Map).Put", "", originRuntime},
		{"memeqbody", "/usr/local/go/src/internal/bytealg/equal_amd64.s", originRuntime},
		{"main.main", "/src/main.go", originService},
		{"dyno/parts/queue.(*Ring[go.shape.string]).Put", "dyno/parts/queue/ring.go", originService},
		{"dyno/parts/queue.Put[github.com/x/y.Z]", "", originService},
		{"github.com/jackc/pgx/v5.(*Conn).Query", "/home/me/go/pkg/mod/github.com/jackc/pgx/v5@v5.7.1/conn.go", originLibrary},
		{"github.com/acme/shop.Serve", "/home/me/shop/serve.go", originService},
		{"example.com/x.F", "/home/me/shop/vendor/example.com/x/x.go", originLibrary},
		{summedUp, "", originRest},
	} {
		if got := originOf(c.function, c.file); got != c.want {
			t.Errorf("%s in %s: origin %d, want %d", c.function, c.file, got, c.want)
		}
	}
}
