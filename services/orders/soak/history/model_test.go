package history

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// event is one step in the history of one order, for a checker that keeps everything.
type event struct {
	committing, acked int64 // versions
}

// model judges a read by the whole history.
func model(events []event, began, ended int, seen, version int64) Kind {
	begun, floor := int64(1), int64(1)
	for i, e := range events[:ended] {
		begun = max(begun, e.committing)
		if i < began {
			floor = max(floor, e.acked)
		}
	}
	switch {
	case version > begun:
		return Unwritten
	case version < floor:
		return Stale
	case version < seen:
		return Backwards
	}
	return ""
}

// Judging by floor and ceiling gives the same result as judging by the whole history: commits begin
// and are acknowledged in any order, some never; reads overlap them and each other and return any
// version.
func TestJudgesAsFromWhole(t *testing.T) {
	type read struct {
		read  Read
		began int
		seen  int64
	}
	rapid.Check(t, func(t *rapid.T) {
		h := New()
		key := EndlessKey(7)
		h.Add(1, key, "a")
		reader := h.Reader("x")
		var events []event
		var open []read
		unacked, next, seen := []int64{}, int64(2), int64(0)
		wrong := 0
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch what := rapid.SampledFrom([]string{"committing", "acked", "begin", "end"}).Draw(t, "what"); {
			case what == "committing":
				h.Committing(1, next)
				events = append(events, event{committing: next})
				unacked = append(unacked, next)
				next++
			case what == "acked" && len(unacked) > 0:
				i := pick(len(unacked))
				h.Committed(1, unacked[i], at(unacked[i]))
				events = append(events, event{acked: unacked[i]})
				unacked = append(unacked[:i], unacked[i+1:]...)
			case what == "begin":
				open = append(open, read{reader.Begin(Ask{UID: 1, Account: "a"}), len(events), seen})
			case what == "end" && len(open) > 0:
				i := pick(len(open))
				r := open[i]
				open = append(open[:i], open[i+1:]...)
				version := rapid.Int64Range(1, next).Draw(t, "version")
				row := key.Derive(version)
				row.UID, row.Account, row.Updated = 1, "a", at(version)
				before := h.Verdict()
				reader.End(&r.read, &Answer{Status: 200, Row: row, ETag: fmt.Sprintf(`"1-%d"`, version)})
				want := model(events, r.began, len(events), r.seen, version)
				after := h.Verdict()
				for _, k := range Kinds {
					if got := after.Broken[k] - before.Broken[k]; got != 0 && k != want || got != 1 && k == want {
						t.Fatalf("version %d is judged %d %s, want %q", version, got, k, want)
					}
				}
				if want == "" {
					seen = max(seen, version)
				} else {
					wrong++
				}
			}
		}
		if v := h.Verdict(); wrong == 0 != v.OK() {
			t.Fatalf("%d are wrong: %v", wrong, v.Error())
		}
	})
}

// Derived rows obey the database's rules, differ between versions and ghosts, and name their key.
func TestDerive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := Key(rapid.Uint64Range(0, 1<<40).Draw(t, "key"))
		version := rapid.Int64Range(1, 1<<40).Draw(t, "version")
		if last := key.Last(); last > 0 {
			version = 1 + version%last
		}
		row := key.Derive(version)
		if row.Qty <= 0 || row.Price < 0 || row.Filled < 0 || row.Filled > row.Qty || len(row.Symbol) > 32 {
			t.Fatalf("the database would refuse %+v", row)
		}
		if terminal := row.Status == "FILLED" || row.Status == "CANCELLED"; terminal != (version == key.Last()) {
			t.Fatalf("version %d of %d is %s", version, key.Last(), row.Status)
		}
		if got, ok := keyOf(row.Symbol); !ok || got != key {
			t.Fatalf("%s is of key %d, want %d", row.Symbol, got, key)
		}
		if row.holds(key.Derive(version+1)) || row.holds(key.Ghost(version)) {
			t.Fatalf("%+v is not distinct", row)
		}
	})
}
