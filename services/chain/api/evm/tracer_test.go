package evm

import (
	"encoding/json"
	"math/big"
	"runtime"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/params"
)

// No tracer keeps more than its bound of what a transaction passes to its calls, alone or with others.
func TestTracerMemory(t *testing.T) {
	refuseJavaScript()
	const most = 8 << 20
	names := []string{"callTracer", "flatCallTracer", "prestateTracer", "4byteTracer", "noopTracer", "erc7562Tracer", "keccak256PreimageTracer"}
	all := map[string]json.RawMessage{}
	options := map[string]*traceOptions{}
	for _, name := range names {
		all[name] = json.RawMessage("{}")
		options[name] = &traceOptions{Tracer: name, TracerConfig: json.RawMessage("{}")}
		options["muxTracer of "+name] = &traceOptions{Tracer: "muxTracer", TracerConfig: json.RawMessage(`{"` + name + `":{}}`)}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	options["muxTracer of all"] = &traceOptions{Tracer: "muxTracer", TracerConfig: text}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	input := make([]byte, 1<<20)
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			tr, err := newTracer(o, new(tracers.Context), params.TestChainConfig, most)
			if err != nil {
				t.Fatal(err)
			}
			db, err := gethstate.New(types.EmptyRootHash, gethstate.NewDatabaseForTesting())
			if err != nil {
				t.Fatal(err)
			}
			before, none := heap(), new(big.Int)
			if tr.OnTxStart != nil {
				tr.OnTxStart(&tracing.VMContext{BlockNumber: none, StateDB: db}, types.NewTx(&types.LegacyTx{Gas: 1, To: &common.Address{}}), common.Address{})
			}
			tr.EmitEnter(0, byte(vm.CALL), common.Address{}, common.Address{}, nil, tracing.Gas{}, none)
			for range 100 {
				tr.EmitEnter(1, byte(vm.CALL), common.Address{}, common.Address{}, input, tracing.Gas{}, none)
				tr.EmitExit(1, input, tracing.Gas{}, tracing.Gas{}, nil, false)
			}
			if kept := heap() - before; kept > 2*most {
				t.Errorf("it keeps %d bytes of 200 MiB, with a bound of %d", kept, most)
			}
			runtime.KeepAlive(tr)
		})
	}
	if _, err := newTracer(&traceOptions{Tracer: "muxTracer", TracerConfig: json.RawMessage(`{"muxTracer":{"callTracer":{}}}`)}, new(tracers.Context), params.TestChainConfig, most); err == nil {
		t.Error("a muxTracer within a muxTracer is accepted")
	}
}
