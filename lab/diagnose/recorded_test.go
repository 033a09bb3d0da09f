package diagnose

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// The waits are of the leader of three chain nodes, as recorded by scenario chain-unbatched. With
// its planted fault, raft's loop waits for the disk once per request; without the fault, requests
// share these waits.
func TestDiagnoseRecordedWaits(t *testing.T) {
	const unshared = "dyno/parts/cluster/raft.(*Node).drive (no file known) waits there 1.06 times for each request: requests do not share that wait"
	for name, says := range map[string]bool{"chain-unbatched": true, "chain-batched": false} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		trace := new(record.Trace)
		if err := json.Unmarshal(text, trace); err != nil {
			t.Fatal(err)
		}
		r := profiled(32, 800, nil)
		r.FixtureTrace = trace
		d := NewSubject("v", append(sweep(700, 800, 800), r)).Diagnose(rules.Defaults)
		if d.Bottleneck != rules.Wait || !strings.Contains(d.Text, "in dyno/parts/cluster/raft.(*Node).Propose") || strings.Contains(d.Text, unshared) != says {
			t.Errorf("%s: %s: %s", name, d.Bottleneck, d.Text)
		}
	}
}
