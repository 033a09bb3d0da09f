package evm

import (
	"encoding/json"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	_ "github.com/ethereum/go-ethereum/eth/tracers/native" // those that have a name
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/jsonrpc"
)

// traceOptions say what a trace has: every step, or what a tracer collects.
type traceOptions struct {
	logger.Config
	Tracer       string          `json:"tracer"`
	TracerConfig json.RawMessage `json:"tracerConfig"`
	Timeout      string          `json:"timeout"` // a duration; longer than the node's it is without effect
}

// within returns the time that a trace may take, of at most some.
func (o *traceOptions) within(most time.Duration) (time.Duration, error) {
	if o.Timeout == "" {
		return most, nil
	}
	d, err := time.ParseDuration(o.Timeout)
	if err != nil {
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "the trace's timeout: %v", err)
	}
	return min(d, most), nil
}

// refuseJavaScript makes go-ethereum's directory of tracers refuse what is none of its names, which
// it takes for a tracer in JavaScript, also within muxTracer. The directory is one for the process.
var refuseJavaScript = sync.OnceFunc(func() {
	tracers.DefaultDirectory.RegisterJSEval(func(name string, _ *tracers.Context, _ json.RawMessage, _ *params.ChainConfig) (*tracers.Tracer, error) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown tracer %.100q; there are callTracer, flatCallTracer, prestateTracer, 4byteTracer, "+
			"noopTracer, muxTracer, erc7562Tracer and keccak256PreimageTracer, and none in JavaScript; without one, every step is logged", name)
	})
})

// tracer collects a trace of at most some bytes.
type tracer struct {
	*tracing.Hooks
	result func() (json.RawMessage, error)
	most   int
	left   int // bytes of JSON that it may still take; below 0, nothing is collected
	copies int // of tracers, each of which keeps what it gets
}

// newTracer returns a tracer of one transaction.
func newTracer(o *traceOptions, at *tracers.Context, config *params.ChainConfig, most int) (*tracer, error) {
	if o.Tracer == "" {
		steps := o.Config
		if steps.Limit <= 0 || steps.Limit > most {
			steps.Limit = max(most, 1) // 0 would mean none
		}
		t := logger.NewStructLogger(&steps)
		return &tracer{Hooks: t.Hooks(), result: t.GetResult, most: most}, nil
	}
	const muxTracer = "muxTracer"
	named, err := tracers.DefaultDirectory.New(o.Tracer, at, o.TracerConfig, config)
	if err != nil {
		return nil, err
	}
	t := &tracer{result: named.GetResult, most: most, left: most, copies: 1}
	if o.Tracer == muxTracer {
		var within map[string]json.RawMessage
		if err := json.Unmarshal(o.TracerConfig, &within); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the muxTracer's tracerConfig: %v", err)
		}
		if _, again := within[muxTracer]; again {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "a muxTracer within a muxTracer is not supported: name its tracers in the outer one")
		}
		t.copies = max(len(within), 1)
	}
	if o.Tracer == "4byteTracer" || o.Tracer == "noopTracer" || o.Tracer == "prestateTracer" {
		t.Hooks = named.Hooks // what they keep does not grow with each call
	} else {
		t.Hooks = t.bounded(named.Hooks)
	}
	return t, nil
}

// callBytes is about what a call or a log takes in JSON, beside its data.
const callBytes = 300

// take reports whether there is room for a call or a log with some bytes of data.
func (t *tracer) take(data int) bool {
	t.left -= (callBytes + 2*data) * t.copies
	return t.left >= 0
}

// step reports whether there is room for what a step leaves behind.
func (t *tracer) step(op byte, scope tracing.OpContext) bool {
	if vm.OpCode(op) == vm.KECCAK256 {
		if stack := scope.StackData(); len(stack) > 1 && stack[len(stack)-2].IsUint64() {
			t.take(int(min(stack[len(stack)-2].Uint64(), uint64(t.most)))) // a preimage, which some keep
		}
	}
	return t.left >= 0
}

// bounded are hooks that are no longer called when there is no room: one transaction may pass the
// same megabyte to many thousands of calls, of which a tracer keeps copies.
func (t *tracer) bounded(h *tracing.Hooks) *tracing.Hooks {
	out := *h
	if enter := h.OnEnter; enter != nil {
		out.OnEnter = func(depth int, kind byte, from, to common.Address, input []byte, gas uint64, value *big.Int) {
			if t.take(len(input)) {
				enter(depth, kind, from, to, input, gas, value)
			}
		}
	}
	if exit := h.OnExit; exit != nil {
		out.OnExit = func(depth int, output []byte, gasUsed uint64, err error, reverted bool) {
			if t.take(len(output)) {
				exit(depth, output, gasUsed, err, reverted)
			}
		}
	}
	if enter := h.OnEnterV2; enter != nil {
		out.OnEnterV2 = func(depth int, kind byte, from, to common.Address, input []byte, gas tracing.Gas, value *big.Int) {
			if t.take(len(input)) {
				enter(depth, kind, from, to, input, gas, value)
			}
		}
	}
	if exit := h.OnExitV2; exit != nil {
		out.OnExitV2 = func(depth int, output []byte, left tracing.Gas, err error, reverted bool) {
			if t.take(len(output)) {
				exit(depth, output, left, err, reverted)
			}
		}
	}
	if log := h.OnLog; log != nil {
		out.OnLog = func(l *types.Log) {
			if t.take(len(l.Data)) {
				log(l)
			}
		}
	}
	if step := h.OnOpcode; step != nil {
		out.OnOpcode = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, data []byte, depth int, err error) {
			if t.step(op, scope) {
				step(pc, op, gas, cost, scope, data, depth, err)
			}
		}
	}
	if step := h.OnOpcodeV2; step != nil {
		out.OnOpcodeV2 = func(pc uint64, op byte, gas, cost tracing.Gas, scope tracing.OpContext, data []byte, depth int, err error) {
			if t.step(op, scope) {
				step(pc, op, gas, cost, scope, data, depth, err)
			}
		}
	}
	if end := h.OnTxEnd; end != nil {
		out.OnTxEnd = func(receipt *types.Receipt, err error) {
			if t.left >= 0 {
				end(receipt, err)
			}
		}
	}
	return &out
}

// finish returns what was collected.
func (t *tracer) finish() (json.RawMessage, error) {
	if t.left < 0 {
		return nil, errTooLarge
	}
	text, err := t.result()
	if err == nil && len(text) > t.most {
		err = errTooLarge
	}
	return text, err
}

var errTooLarge = jsonrpc.Errorf(jsonrpc.LimitExceeded,
	"the trace is too large: set disableStack, disableStorage or limit, or use callTracer with onlyTopCall")
