package evm

import (
	"encoding/json"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
)

// callTraceConfig is the callTracer's settings.
type callTraceConfig struct {
	OnlyTopCall bool `json:"onlyTopCall"`
	WithLog     bool `json:"withLog"`
}

// frame is a call and those that it made, as go-ethereum's callTracer shows them.
type frame struct {
	From         common.Address  `json:"from"`
	Gas          hexutil.Uint64  `json:"gas"`
	GasUsed      hexutil.Uint64  `json:"gasUsed"`
	To           *common.Address `json:"to,omitempty"`
	Input        hexutil.Bytes   `json:"input"`
	Output       hexutil.Bytes   `json:"output,omitempty"`
	Error        string          `json:"error,omitempty"`
	RevertReason string          `json:"revertReason,omitempty"`
	Calls        []*frame        `json:"calls,omitempty"`
	Logs         []frameLog      `json:"logs,omitempty"`
	Value        *hexutil.Big    `json:"value,omitempty"`
	Type         string          `json:"type"`

	undone bool // what it did to the state
}

// frameLog is a log of a frame. Its position is the number of calls that the frame made before it.
type frameLog struct {
	Address  common.Address `json:"address"`
	Topics   []common.Hash  `json:"topics"`
	Data     hexutil.Bytes  `json:"data"`
	Index    hexutil.Uint   `json:"index"`
	Position hexutil.Uint   `json:"position"`
}

// frameBytes is about what a frame or a log takes in JSON, beside its data.
const frameBytes = 300

// callTracer collects the calls of one transaction. (That of go-ethereum needs its whole node.)
type callTracer struct {
	config callTraceConfig
	left   int      // bytes of JSON that the trace may still take; below 0, nothing is collected
	open   []*frame // from the top call to the current one
	top    *frame
	depth  int
	gas    uint64 // of the transaction
}

func (t *callTracer) hooks() *tracing.Hooks {
	return &tracing.Hooks{
		OnTxStart: func(_ *tracing.VMContext, tx *types.Transaction, _ common.Address) { t.gas = tx.Gas() },
		OnTxEnd:   t.end,
		OnEnter:   t.enter,
		OnExit:    t.exit,
		OnLog:     t.log,
	}
}

// take reports whether there is room for a frame or a log with some bytes of data.
func (t *callTracer) take(data int) bool {
	t.left -= frameBytes + 2*data
	return t.left >= 0
}

func (t *callTracer) enter(depth int, kind byte, from, to common.Address, input []byte, gas uint64, value *big.Int) {
	t.depth = depth
	if depth > 0 && t.config.OnlyTopCall || !t.take(len(input)) {
		return
	}
	f := &frame{Type: vm.OpCode(kind).String(), From: from, To: &to, Input: common.CopyBytes(input), Gas: hexutil.Uint64(gas), Value: (*hexutil.Big)(value)}
	if depth == 0 {
		f.Gas, t.top = hexutil.Uint64(t.gas), f
	} else {
		parent := t.open[len(t.open)-1]
		parent.Calls = append(parent.Calls, f)
	}
	t.open = append(t.open, f)
}

func (t *callTracer) exit(depth int, output []byte, gasUsed uint64, err error, undone bool) {
	t.depth = depth - 1
	if depth > 0 && t.config.OnlyTopCall || !t.take(len(output)) || len(t.open) == 0 {
		return
	}
	f := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	f.GasUsed = hexutil.Uint64(gasUsed)
	f.finish(common.CopyBytes(output), err, undone)
}

// finish adds how a call ended. (Before Homestead, a creation that could not pay for its code
// returned an error that undid nothing.)
func (f *frame) finish(output []byte, err error, undone bool) {
	if err == nil || !undone {
		f.Output = output
		return
	}
	f.Error, f.undone = err.Error(), true
	if f.Type == vm.CREATE.String() || f.Type == vm.CREATE2.String() {
		f.To = nil
	}
	if !errors.Is(err, vm.ErrExecutionReverted) || len(output) == 0 {
		return
	}
	f.Output = output
	if reason, err := abi.UnpackRevert(output); err == nil {
		f.RevertReason = reason
	}
}

func (t *callTracer) log(l *types.Log) {
	if !t.config.WithLog || t.config.OnlyTopCall && t.depth > 0 || !t.take(len(l.Data)) {
		return
	}
	f := t.open[len(t.open)-1]
	f.Logs = append(f.Logs, frameLog{l.Address, l.Topics, l.Data, hexutil.Uint(l.Index), hexutil.Uint(len(f.Calls))})
}

func (t *callTracer) end(receipt *types.Receipt, err error) {
	if err != nil || t.top == nil {
		return
	}
	t.top.GasUsed = hexutil.Uint64(receipt.GasUsed)
	t.top.dropLogs(false)
}

// dropLogs removes the logs of calls that were undone.
func (f *frame) dropLogs(undone bool) {
	if undone = undone || f.undone; undone {
		f.Logs = nil
	}
	for _, c := range f.Calls {
		c.dropLogs(undone)
	}
}

func (t *callTracer) result() (json.RawMessage, error) {
	if t.left < 0 {
		return nil, errTooLarge
	}
	if t.top == nil {
		return nil, errors.New("incorrect number of top-level calls")
	}
	return json.Marshal(t.top)
}
