package store

import (
	"testing"

	"dyno/services/orders/order"
)

// Connections are used again, and each knows its statements after the first time.
func TestStats(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		o.Reads, o.Batches, o.Lists, o.Writes = 1, 1, 1, 1
		s, _ := open(t, o)
		made := submit(t, s, "A1", buy(1))
		const rounds = 25
		for range rounds {
			if _, err := s.Order(t.Context(), made.UID); err != nil {
				t.Fatal(err)
			}
			for _, status := range []order.Status{0, order.New} {
				if _, err := s.Orders(t.Context(), order.Filter{Account: "A1", Status: status, Limit: 1}); err != nil {
					t.Fatal(err)
				}
			}
			if r, err := s.Submit(t.Context(), "A1", buy(1)); err != nil || !r.Duplicate { // two statements
				t.Fatal(r, err)
			}
		}
		st := s.Stats()
		if st.Statements != 1+5*rounds || st.Deadlines != st.Statements || st.Undated != 0 || st.Prepares != 5 {
			t.Errorf("%+v", st)
		}
		one := map[string]string{"single": classReads, "batch": classBatches}[o.Lookup]
		for class, acquires := range map[string]uint64{one: rounds, classLists: 2 * rounds, classWrites: 1 + 2*rounds} {
			if p := st.Pools[class]; p.Acquires != acquires || p.Opened != 1 || p.Open != 1 || p.Max != 1 || p.InUse != 0 {
				t.Errorf("%s: %+v, want %d acquires", class, p, acquires)
			}
		}
		if len(st.Pools) != 3 {
			t.Errorf("pools %v", st.Pools)
		}
		if o.Lookup == "batch" && (st.Batch.Calls != rounds || st.Batch.Keys != rounds) {
			t.Errorf("%+v", st.Batch)
		}
	})
}
