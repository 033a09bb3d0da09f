package stacks

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

// frames parses the stacks in these tables: the leaf first, "<" before each caller, a file in
// parentheses after @.
func frames(stack string) []record.Frame {
	var out []record.Frame
	for f := range strings.SplitSeq(stack, " < ") {
		name, file, _ := strings.Cut(strings.TrimSpace(f), " @ ")
		out = append(out, record.Frame{Function: name, File: file})
	}
	return out
}

func TestStandard(t *testing.T) {
	for function, want := range map[string]bool{
		"main.main":                                            false,
		"main.(*server).handle.func1":                          false,
		"dyno/parts/queue.(*Ring[...]).Do":                     false,
		"dyno/lab/record.Profile":                              false,
		"github.com/a/b.(*T).M":                                false,
		"gopkg.in/yaml%2ev3.Unmarshal":                         false,
		"shop/internal/cart.Add[go.shape.[]net/http.Header]":   false,
		"net/http.(*conn).serve":                               true,
		"runtime.mallocgc":                                     true,
		"internal/runtime/maps.ctrlGroup.matchH2":              true,
		"slices.SortFunc[go.shape.[]main.T,go.shape.struct{}]": true,
		"sort.Slice":                                           true,
		"vendor/golang.org/x/net/idna.ToASCII":                 true,
		"type:.eq.net/http.connectMethodKey":                   true,
		"type:.eq.main.key":                                    true,
		"memeqbody":                                            true,
		"gcWriteBarrier":                                       true,
		"":                                                     true,
		"encoding/json.(*decodeState).object":                  true,
		"internal/sync.(*HashTrieMap[...]).Load":               true,
	} {
		if got := Standard(function); got != want {
			t.Errorf("Standard(%q) = %v, want %v", function, got, want)
		}
	}
}

func TestUserFrame(t *testing.T) {
	for _, tt := range []struct{ name, stack, want string }{
		{"own code below a library", "runtime.mallocgc < encoding/json.Marshal < shop/cart.Encode < main.main", "shop/cart.Encode"},
		{"a dependency is passed over", "runtime.mallocgc < github.com/a/b.Parse < main.handle < main.main", "main.handle"},
		{"a dependency alone", "runtime.mallocgc < github.com/a/b.Parse < runtime.goexit", "github.com/a/b.Parse"},
		{"the nearest of two dependencies", "github.com/a/b.Parse < github.com/c/d.Run", "github.com/a/b.Parse"},
		{"own module with a host's name, by its file", "github.com/me/shop/cart.Add @ /home/me/shop/cart/add.go < main.main", "github.com/me/shop/cart.Add"},
		{"a dependency by its file", "github.com/a/b.Parse @ /go/pkg/mod/github.com/a/b@v1.2.0/parse.go < github.com/me/shop.Add @ /home/me/add.go", "github.com/me/shop.Add"},
		{"a dependency by its trimmed file", "rsc.io/b.Parse @ rsc.io/b@v1.2.0/parse.go < github.com/me/shop.Add @ github.com/me/shop/add.go", "github.com/me/shop.Add"},
		{"a vendored dependency", "github.com/a/b.Parse @ /src/shop/vendor/github.com/a/b/parse.go < shop.Add @ /src/shop/add.go", "shop.Add"},
		{"a deferred call", "sync.(*Mutex).Unlock < main.(*quotes).renew.deferwrap1 < main.(*quotes).renew", "main.(*quotes).renew"},
		{"no user code", "runtime.scanobject < runtime.gcDrain", ""},
	} {
		got, ok := UserFrame(frames(tt.stack))
		if got.Function != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q %v, want %q", tt.name, got.Function, ok, tt.want)
		}
	}
}
