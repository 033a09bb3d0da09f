package notify

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"dyno/parts/quicktest"
	"dyno/services/notify/notice"
)

// Accepting took 13 allocations, 5.6 a notice in a batch, and delivering 90 more when this was
// written, those of the test and its receiver among them: a webhook is encoded and signed at every
// attempt, by the standard library and that of Standard Webhooks.
func TestAllocations(t *testing.T) {
	if quicktest.Race {
		t.Skip("the race detector empties pools: what a delivery allocates is counted without it")
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, patient(map[string]string{"window": "1000", "workers": "1"}))
		next := 0
		accept := func(n int, kind string) {
			notices := make([]*notice.Notice, n)
			for i := range notices {
				next++
				notices[i] = aNotice(fmt.Sprintf("n%d", next), "k", kind)
			}
			if _, _, err := w.d.acceptor.Accept(context.Background(), notices); err != nil {
				t.Fatal(err)
			}
		}
		one := testing.AllocsPerRun(200, func() { accept(1, "unwanted") })
		many := testing.AllocsPerRun(50, func() { accept(64, "unwanted") }) / 64
		w.subscribe(p.host, ofTypes("t"))
		delivered := testing.AllocsPerRun(200, func() { accept(1, "t"); synctest.Wait() })
		t.Logf("accepting one: %v, one of 64: %v, accepting and delivering one: %v", one, many, delivered)
		for _, c := range []struct {
			what      string
			got, most float64
		}{{"accepting one", one, 14}, {"accepting one of 64", many, 7}, {"accepting and delivering one", delivered, 108}} {
			if c.got > c.most {
				t.Errorf("%s: %v allocations, more than %v", c.what, c.got, c.most)
			}
		}
		w.settle()
		w.stop()
	})
}
