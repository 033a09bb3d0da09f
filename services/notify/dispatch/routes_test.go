package dispatch

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dyno/services/notify/topic"
)

// A visit finds the subscriptions that topic.Match finds among all, each once, whatever they wanted
// before.
func TestRoutesFindAll(t *testing.T) {
	kinds := []string{"a", "b", "a.b", "a.c", "a.b.c", "other"}
	patterns := append([]string{"*", "a.*", "a.b.*", "b.*"}, kinds...)
	rapid.Check(t, func(t *rapid.T) {
		r := routes{}
		subs := make([]*subscriber, 5)
		none := map[*subscriber]bool{} // wants nothing
		for i := range subs {
			subs[i] = new(subscriber)
			none[subs[i]] = true
		}
		set := func(none bool) func(t *rapid.T) (sub *subscriber) {
			return func(t *rapid.T) *subscriber {
				sub := rapid.SampledFrom(subs).Draw(t, "subscription")
				types := rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 3).Draw(t, "types")
				r.set(sub, sub.def.Types, types, none)
				sub.def.Types = types
				return sub
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set":   func(t *rapid.T) { none[set(false)(t)] = false },
			"unset": func(t *rapid.T) { none[set(true)(t)] = true },
			"": func(t *rapid.T) {
				for _, kind := range kinds {
					want, got := map[*subscriber]int{}, map[*subscriber]int{}
					for _, sub := range subs {
						if !none[sub] && topic.Match(sub.def.Types, kind) {
							want[sub] = 1
						}
					}
					r.visit(kind, func(sub *subscriber) { got[sub]++ })
					if !maps.Equal(got, want) {
						t.Fatalf("%s: visited %v, want %v", kind, got, want)
					}
				}
				if slices.Index(slices.Collect(maps.Values(none)), false) < 0 && len(r.exact)+len(r.open) > 0 {
					t.Fatalf("no subscription is left, but %v", r)
				}
			},
		})
	})
}
