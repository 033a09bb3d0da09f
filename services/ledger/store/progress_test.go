package store

import (
	"encoding/json"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/xrpl/xrpltest"
)

// Ledgers proved by a sample are never reported as fully proved, whatever is synced afterwards.
func TestSampleStays(t *testing.T) {
	for _, c := range []struct {
		before, now Progress
		want        int
		proof       string
	}{
		{Progress{}, Progress{Level: "L4"}, 0, "L4"},
		{Progress{}, Progress{Level: "L4", Sample: 1}, 0, "L4"},
		{Progress{}, Progress{Level: "L4", Sample: 10}, 10, "L4 with the signatures of one ledger in 10"},
		{Progress{Level: "L4", Sample: 10}, Progress{Level: "L4", Sample: 1}, 10, "L4 with the signatures of one ledger in 10"},
		{Progress{Level: "L4", Sample: 10}, Progress{Level: "L4", Sample: 50}, 50, "L4 with the signatures of one ledger in 50"},
		{Progress{Level: "L4"}, Progress{Level: "L4", Sample: 5}, 5, "L4 with the signatures of one ledger in 5"},
		{Progress{Level: "L4", Sample: 10}, Progress{Level: "L2", Sample: 10}, 0, "L2"},
		{Progress{}, Progress{Level: "l4", Sample: 10}, 10, "l4 with the signatures of one ledger in 10"},
		{Progress{}, Progress{}, 0, ""},
	} {
		if p := c.now.After(c.before); p.Sample != c.want || p.Proof() != c.proof {
			t.Errorf("%+v after %+v: one in %d, %q", c.now, c.before, p.Sample, p.Proof())
		}
	}
}

func TestSampleIsStored(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, disk, Options{})
	if err := s.Append(xrpltest.Chain(1, 5, 2, 1), Progress{From: 5, To: 6, Level: "L4", Sample: 10}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk, Options{ReadOnly: true})
	if want := "L4 with the signatures of one ledger in 10"; s.Progress().Proof() != want || s.Progress().Sample != 10 {
		t.Errorf("%q, not %q", s.Progress().Proof(), want)
	}
}

// Progress written by an older program has no sample.
func TestOlderProgress(t *testing.T) {
	var p Progress
	err := json.Unmarshal([]byte(`{"from":5,"to":6,"servers":["http://a"],"level":"L4","anchor":""}`), &p)
	if err != nil || p.Sample != 0 || p.Proof() != "L4" {
		t.Errorf("%+v, %v", p, err)
	}
}
