package findings

import (
	"math"
	"testing"
)

// Removes holds the cost that the finding reports: the estimates use it.
func TestFindingsSayWhatTheyRemove(t *testing.T) {
	f, ok := of(Find(withCPU(t, stacksOf{"encoding/json.Marshal < main.render" + handler: sampled(1.2), "main.other" + handler: sampled(2.8)})), KindHotPath)
	if !ok || math.Abs(f.Removes.CPU-0.7) > 1e-6 || f.Removes.CPUOf == "" {
		t.Errorf("%+v", f)
	}
	waiting := traced(t, wait("sync", "sync.(*Mutex).Lock < main.store"+handler, 5, "sync.(*Mutex).Unlock < main.store"+handler),
		wait("select", "database/sql.(*DB).conn < database/sql.(*DB).QueryContext < main.find"+handler, 3, ""))
	for kind, waits := range map[string]string{KindContention: "lock", KindPool: "pool"} {
		f, ok := of(Find(waiting), kind)
		if !ok || len(f.Removes.Waits) != 1 || f.Removes.Waits[0] != waits || f.Removes.Time <= 0 || f.Removes.CPU != 0 {
			t.Errorf("%s: %+v", kind, f.Removes)
		}
	}
}
