package dispatch

import (
	"fmt"
	"slices"
	"testing"

	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// newTestTable makes a table of subscriptions with these types, and of no logs.
func newTestTable(t *testing.T, types ...[]string) (*Table, []*Subscription) {
	t.Helper()
	d, err := NewDeliverer(DelivererOptions{Batching: "single", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable(TableOptions{Deliverer: d})
	var subs []*Subscription
	for i, wanted := range types {
		sub, err := table.Restore(&subscription.Recovered{Position: subscription.Position{Definition: subscription.Definition{ID: fmt.Sprint(i), URL: "http://x", Types: wanted}}})
		if err != nil {
			t.Fatal(err)
		}
		table.Activate(sub)
		subs = append(subs, sub)
	}
	return table, subs
}

func visited(table *Table, m *Matches, notices []*notice.Notice) (ids [][]string) {
	for i, n := range notices {
		var of []string
		table.Visit(m, i, n, func(sub *Subscription) { of = append(of, sub.ID) })
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
	var m Matches
	for range 2 { // the second uses its memory again
		if owed := table.Match(notices, &m); owed != 2+1+2+2 {
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
	var m Matches
	if owed := table.Match(notices, &m); owed != 3*len(notices) || len(m.subs) > maxMatches {
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
	var m Matches
	n := 0
	if got := testing.AllocsPerRun(100, func() {
		table.Match(notices, &m)
		for i, one := range notices {
			table.Visit(&m, i, one, func(*Subscription) { n++ })
		}
		m.Reset()
	}); got != 0 || n == 0 {
		t.Errorf("%v allocations, %d visits", got, n)
	}
}
