package node

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"go.opentelemetry.io/otel/trace/noop"

	"dyno/services/chain/mempool"
)

// Without traces, and for transactions whose trace is not recorded, spans cost nothing.
func TestNoTracesNoCost(t *testing.T) {
	block := types.NewBlockWithHeader(&types.Header{})
	mined := []*mempool.Entry{{}, {}}
	for name, n := range map[string]*Node{"off": {}, "not recorded": {o: Options{Tracer: noop.NewTracerProvider().Tracer("")}}} {
		if got := testing.AllocsPerRun(1000, func() {
			ctx, span := n.begin(t.Context(), "eth_submitTransaction")
			if placeOf(span) != nil {
				t.Error("a place in no trace")
			}
			_, write := n.begin(ctx, "journal.Accept")
			end(write, nil)
			end(span, nil)
			ctx, span = n.beginBlock(time.Time{}, block, mined)
			_, write = n.begin(ctx, "blockchain.WriteBlock")
			end(write, nil)
			end(span, nil)
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
