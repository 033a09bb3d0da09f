package dispatch

import (
	"fmt"
	"slices"
	"testing"

	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// newTestTable makes a table of subscriptions with these types, and of no logs.
func newTestTable(t *testing.T, types ...[]string) (*Table, []*subscriber) {
	t.Helper()
	d, err := NewDeliverer(DelivererOptions{Batching: "single", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable(TableOptions{Deliverer: d})
	var subs []*subscriber
	for i, wanted := range types {
		id := fmt.Sprint(i)
		if err := table.restore(&subscription.Recovered{Position: subscription.Position{Definition: subscription.Definition{ID: id, URL: "http://x", Types: wanted}}}, 1); err != nil {
			t.Fatal(err)
		}
		sub := table.get(id)
		table.activate(sub)
		subs = append(subs, sub)
	}
	return table, subs
}

func visited(table *Table, m *matches, notices []*notice.Notice) (ids [][]string) {
	for i, n := range notices {
		var of []string
		table.visit(m, i, n, func(sub *subscriber) { of = append(of, sub.id) })
		slices.Sort(of)
		ids = append(ids, of)
	}
	return ids
}

// Routing visits the subscriptions that were matched, and those of the moment if one came or went
// in between.
func TestMatchesAreCurrent(t *testing.T) {
	table, subs := newTestTable(t, []string{"a"}, []string{"a.*"}, nil, []string{"b"})
	notices := []*notice.Notice{{Type: "a"}, {Type: "none"}, {Type: "a.b"}, {Type: "b"}}
	var m matches
	for range 2 { // the second uses its memory again
		if owed := table.match(notices, &m); owed != 2+1+2+2 {
			t.Errorf("%d are owed", owed)
		}
		if got := fmt.Sprint(visited(table, &m, notices)); got != "[[0 2] [2] [1 2] [2 3]]" {
			t.Errorf("visited %s", got)
		}
	}
	table.routes.set(subs[2], nil, nil, true)
	table.version++
	if got := fmt.Sprint(visited(table, &m, notices)); got != "[[0] [] [1] [3]]" {
		t.Errorf("visited %s after a change", got)
	}
}

// Matches are bounded: what does not fit is looked up again.
func TestMatchesAreBounded(t *testing.T) {
	table, _ := newTestTable(t, nil, nil, nil)
	notices := make([]*notice.Notice, maxMatches/3+1)
	for i := range notices {
		notices[i] = &notice.Notice{Type: "t"}
	}
	var m matches
	if owed := table.match(notices, &m); owed != 3*len(notices) || len(m.subs) > maxMatches {
		t.Errorf("%d are owed, %d are remembered", owed, len(m.subs))
	}
	for i, of := range visited(table, &m, notices) {
		if len(of) != 3 {
			t.Fatalf("notice %d goes to %v", i, of)
		}
	}
}

// Matching and routing allocate nothing once their memory is there.
func TestMatchAllocations(t *testing.T) {
	table, _ := newTestTable(t, []string{"a"}, nil, []string{"a.*"})
	notices := []*notice.Notice{{Type: "a"}, {Type: "a.b"}}
	var m matches
	n := 0
	if got := testing.AllocsPerRun(100, func() {
		table.match(notices, &m)
		for i, one := range notices {
			table.visit(&m, i, one, func(*subscriber) { n++ })
		}
		m.reset()
	}); got != 0 || n == 0 {
		t.Errorf("%v allocations, %d visits", got, n)
	}
}
