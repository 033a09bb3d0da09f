package full

import (
	"fmt"
	"math/big"
	"strings"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Code that an attacker has executed, as the data of a creation.
const (
	endless  = "0x5b5f56"                           // a loop: JUMPDEST PUSH0 JUMP
	memory   = "0x5f64ffffffffff52"                 // writes at byte 2^40-1
	growing  = "0x5b5f60205901525f56"               // writes behind the end of its memory
	creating = "0x5b5f5f5ff0505f56"                 // creates accounts without end
	logging  = "0x612af85b5f5fa0600190038060035700" // 11,000 logs
)

// calls are attacks by what a method is asked to do.
var calls = []attack{
	{"a call without end", call("eth_call", `[{"data":"`+endless+`"}]`), "-32000 out of gas"},
	{"a call without end that offers 2^64-1 gas", call("eth_call", `[{"gas":"0xffffffffffffffff","data":"`+endless+`"}]`), "-32000 out of gas"},
	{"a call without end, in code that it brings", call("eth_call", `[{"to":"`+brought+`"},"latest",{"`+brought+`":{"code":"`+endless+`"}}]`), "-32000 out of gas"},
	{"an estimate without end", call("eth_estimateGas", `[{"data":"`+endless+`"}]`), "-32000 gas required exceeds allowance"},
	{"a call that takes a terabyte of memory", cheaply(20e6, call("eth_call", `[{"data":"`+memory+`"}]`)), "-32000 out of gas"},
	{"a call that grows its memory without end", cheaply(200e6, call("eth_call", `[{"data":"`+growing+`"}]`)), "-32000 out of gas"},
	{"a call that creates accounts without end", call("eth_call", `[{"data":"`+creating+`"}]`), "-32000 out of gas"},
	{"a power of numbers of 2^255 bytes", call("eth_call", `[{"to":"0x0000000000000000000000000000000000000005","data":"0x`+strings.Repeat("80"+strings.Repeat("00", 31), 3)+`"}]`), "-32000 "},
	{"a trace without end", traceEndless(`{}`), "-32005 the trace is too large"},
	{"a trace without end, of calls", traceEndless(`{"tracer":"callTracer"}`), `result {`},
	{"a tracer in JavaScript", func(a *target) string {
		return a.call("debug_traceTransaction", `["`+a.mined.Hash().Hex()+`",{"tracer":"{step: function(){while(1){}}}"}]`)
	}, "-32602 unknown tracer"},
	{"overrides of 60,000 slots", func(a *target) string {
		var slots []string
		for i := range 34_000 {
			slots = append(slots, fmt.Sprintf(`"0x%064x":"0x%064x"`, i, i+1))
		}
		return a.call("eth_call", `[{"to":"`+brought+`"},"latest",{"`+brought+`":{"stateDiff":{`+strings.Join(slots, ",")+`}}}]`)
	}, `result "0x"`},
	{"overrides of 8 MB", call("eth_call", `[{},"latest",{"`+brought+`":{"code":"0x`+strings.Repeat("00", 4_000_000)+`"}}]`), "413 "},
	{"overrides that contradict each other", call("eth_call", `[{},"latest",{"`+brought+`":{"state":{},"stateDiff":{}}}]`), "-32000 account ...has both 'state' and 'stateDiff'"},
	{"a block number of 300 bits", call("eth_call", `[{},"latest",{},{"number":"0x1`+strings.Repeat("0", 75)+`"}]`), "-32602 "},
	{"a quantity of 1 MB", cheaply(20e6, call("eth_getBlockByNumber", `["0x`+strings.Repeat("f", 1_000_000)+`",false]`)), "-32602 invalid argument 0: ...hex number > 64 bits"},
	{"a value of 300 bits", call("eth_call", `[{"value":"0x`+strings.Repeat("f", 75)+`"}]`), "-32602 "},

	{"more logs than an answer may have", tooManyLogs, "-32005 query returned more than 10000 results"},
	{"logs of the future", call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0xffffffff"}]`), "-32602 block range extends beyond current head block"},
	{"logs in the wrong order", call("eth_getLogs", `[{"fromBlock":"latest","toBlock":"0x0"}]`), "-32602 invalid block range params"},
	{"logs of 1,001 addresses", call("eth_getLogs", `[{"address":[`+strings.Repeat("null,", 1000)+`null]}]`), "-32602 ...exceed max addresses or topics"},
	{"logs with five topics", call("eth_getLogs", `[{"topics":[[],[],[],[],[]]}]`), "-32602 ...exceed max topics"},
	{"the fees of 10^9 blocks", call("eth_feeHistory", `["0x3b9aca00","latest",[]]`), `result {"...oldestBlock":"0x0"`},
	{"101 percentiles of fees", call("eth_feeHistory", `["0x1","latest",[`+strings.Repeat("1,", 100)+`1]]`), "-32000 invalid reward percentile"},
	{"a proof of 1,025 slots", call("eth_getProof", `["`+brought+`",[`+strings.Repeat(`"0x1",`, 1024)+`"0x1"],"latest"]`), "-32602 ...too many storage keys"},
	{"filters without end", func(a *target) string {
		one := message("eth_newFilter", `[{}]`)
		var got string
		for range 12 {
			got = told(a.TryPost("["+strings.Repeat(one+",", 999)+one+"]", nil))
		}
		return got
	}, "-32005 "},
	{"a filter that is not there", call("eth_getFilterChanges", `["0x1"]`), "-32000 filter not found"},
	{"a state of the future", call("eth_getBalance", `["`+brought+`","0xffffffff"]`), "-32000 header not found"},
}

// brought is an address of which a call says what it has.
const brought = "0x00000000000000000000000000000000000a77ac"

// create mines the creation of a contract, which may fail, and returns its transaction.
func (a *target) create(code string, gas uint64) *types.Transaction {
	from := a.NewAccount(10)
	tx := from.Sign(&types.DynamicFeeTx{
		ChainID: big.NewInt(chaintest.ChainID), GasTipCap: chaintest.TipCap, GasFeeCap: new(big.Int).Lsh(chaintest.FeeCap, 4), Gas: gas, Data: hexutil.MustDecode(code),
	})
	a.Send(tx)
	a.Receipt(tx.Hash())
	return tx
}

// traceEndless traces a mined transaction that loops until its gas is used.
func traceEndless(options string) func(*target) string {
	return func(a *target) string {
		tx := a.create(endless, 10_000_000)
		return a.call("debug_traceTransaction", `["`+tx.Hash().Hex()+`",`+options+`]`)
	}
}

// tooManyLogs asks for those of two blocks with 11,000 each.
func tooManyLogs(a *target) string {
	for range 2 {
		if r := a.Receipt(a.create(logging, 8_000_000).Hash()); r.Status != 1 || len(r.Logs) != 11_000 {
			return fmt.Sprintf("status %d, %d logs", r.Status, len(r.Logs))
		}
	}
	return a.call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"latest"}]`)
}
