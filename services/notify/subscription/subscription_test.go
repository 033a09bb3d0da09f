package subscription

import (
	"reflect"
	"testing"
)

func TestRedefine(t *testing.T) {
	var p Position
	for _, c := range []struct {
		types    []string
		disabled string
		from     uint64
		want     []Filter
	}{
		{[]string{"a"}, "", 5, []Filter{{From: 5, Types: []string{"a"}}}},
		{[]string{"a"}, "", 7, []Filter{{From: 5, Types: []string{"a"}}}},
		{nil, "", 8, []Filter{{From: 5, Types: []string{"a"}}, {From: 8}}},
		{[]string{"b"}, "gone", 8, []Filter{{From: 5, Types: []string{"a"}}, {From: 8, None: true}}},
		{[]string{"c"}, "by hand", 9, []Filter{{From: 5, Types: []string{"a"}}, {From: 8, None: true}}},
		{[]string{"c"}, "", 9, []Filter{{From: 5, Types: []string{"a"}}, {From: 8, None: true}, {From: 9, Types: []string{"c"}}}},
	} {
		d := Definition{ID: "s", Types: c.types, Disabled: c.disabled}
		p.Redefine(d, c.from)
		if !reflect.DeepEqual(p.Filters, c.want) || !reflect.DeepEqual(p.Definition, d) {
			t.Errorf("%v from %d: %+v, want %+v", c.types, c.from, p.Filters, c.want)
		}
	}
}

// A filter stays as long as a notice may still be wanted under it.
func TestDropFilters(t *testing.T) {
	all := []Filter{{From: 1}, {From: 5}, {From: 9}}
	for _, c := range []struct {
		waiting []Waiting
		loaded  uint64
		want    []Filter
	}{
		{nil, 4, all},
		{nil, 5, all[1:]},
		{[]Waiting{{Seq: 7}, {Seq: 3}}, 20, all},
		{[]Waiting{{Seq: 8}}, 20, all[1:]},
		{nil, 20, all[2:]},
	} {
		p := Position{Filters: all, Loaded: c.loaded, Waiting: c.waiting}
		if p.DropFilters(); !reflect.DeepEqual(p.Filters, c.want) {
			t.Errorf("loaded up to %d, waiting %v: %v are left, want %v", c.loaded, c.waiting, p.Filters, c.want)
		}
	}
}
