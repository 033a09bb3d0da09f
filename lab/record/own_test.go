package record

import "testing"

// The code of an installed program is in the module cache, as its dependencies are; its build
// information says which module is its own.
func TestFramesOfTheMainModule(t *testing.T) {
	for _, c := range []struct {
		module, function string
		own              bool
	}{
		{"github.com/a/b", "github.com/a/b.Run", true},
		{"github.com/a/b", "github.com/a/b/storage.(*Disk).loop", true},
		{"github.com/a/b", "github.com/a/bc.Run", false},
		{"github.com/a/b", "github.com/other/dep.F", false},
		{"github.com/a/b", "main.main", true},
		{"github.com/a/b", "net/http.(*conn).serve", false},
		{"github.com/a/b/server/v3", "github.com/a/b/api/v3/pb.Run", true},
		{"go.example.io/etcd/server/v3", "go.example.io/etcd/api/v3.Run", true},
		{"go.example.io/etcd/server/v3", "go.example.io/raft/v3.Run", false},
		{"gitlab.example.com/platform/service", "gitlab.example.com/platform/library.Run", false},
		{"golang.org/x/tools", "golang.org/x/net/http2.Run", false},
		{"example", "example/sub.Run", true},
		{"gopkg.in/a.v3", "gopkg.in/a%2ev3.Run", true},
		{"gopkg.in/a.v3", "gopkg.in/a.v3/sub.Run", true},
		{"", "main.main", false}, // only the path can decide
	} {
		frames := []Frame{{Function: c.function}}
		(&Run{Target: Target{Module: c.module}}).own(frames)
		if frames[0].Own != c.own {
			t.Errorf("%s of module %q is own: %t", c.function, c.module, frames[0].Own)
		}
	}
}
