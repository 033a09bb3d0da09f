package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"go.uber.org/goleak"

	"dyno/services/chain/api"
	"dyno/services/chain/api/evm"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node returns a read-only node of the public chain.
func node(t testing.TB) api.Backend {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("../../testdata/archive", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	g, err := genesis.Parse(read("genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := blockchain.Open(t.Context(), t.TempDir(), g, blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(read("chain.rlp")), func() {}); err != nil {
		t.Fatal(err)
	}
	return api.Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: api.ReadOnly{}, Feed: api.ReadOnly{}, Recent: api.NewRecent()}
}

// ask returns the answer of a method in JSON, or the text and the data of its error.
func ask(t testing.TB, all map[string]jsonrpc.Method, method, params string) string {
	t.Helper()
	result, err := all[method](t.Context(), []byte(params))
	said := ""
	if err != nil {
		e := jsonrpc.AsError(err)
		if e.Data == nil {
			return e.Message
		}
		result, said = e.Data, e.Message+" "
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return said + string(text)
}

const (
	zero = "0000000000000000000000000000000000000000"
	code = `"0x00000000000000000000000000000000000c0de0"` // an account that the chain does not have
	rich = `"0x000000000000000000000000000000000000f00d"`
	loop = `"0x5b600056"`
)

// with is the params of a call of code that is given with it, in the last block.
func with(text string) string {
	return `[{"to":` + code + `,"from":` + rich + `},"latest",{` + code + `:{"code":"0x` + text + `"}}`
}

// word is a value of 32 bytes.
func word(digits string) string { return `"0x` + strings.Repeat("0", 64-len(digits)) + digits + `"` }

// patient are chaind's options, but that an execution may take as long as it does.
var patient = evm.Options{Gas: 50_000_000, Timeout: time.Hour, MaxTrace: 16 << 20}

func TestMethods(t *testing.T) {
	n := node(t)
	for name, test := range map[string]func(*testing.T, api.Backend){"call": testCall, "estimate": testEstimate, "estimates": testEstimates, "timeout": testTimeout, "trace": testTrace} {
		t.Run(name, func(t *testing.T) { test(t, n) })
	}
}

func testCall(t *testing.T, n api.Backend) {
	all := evm.Methods(n, patient)
	third, err := n.Blocks.Header(3)
	if err != nil {
		t.Fatal(err)
	}
	returning := func(opcode string) string { return with(opcode + "60005260206000f3") } // of one value
	for _, c := range []struct{ what, params, want string }{
		{"number of the last block", returning("43") + `]`, word("36")},
		{"number of an early block", strings.Replace(returning("43"), "latest", "0x2", 1) + `]`, word("2")},
		{"block by hash", strings.Replace(returning("43"), `"latest"`, `{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"}`, 1) + `]`, word("4")},
		{"hash of a block", returning("600340") + `]`, `"` + third.Hash().Hex() + `"`},
		{"another number", returning("43") + `,{"number":"0x1234"}]`, word("1234")},
		{"another time", returning("42") + `,{"time":"0x1234"}]`, word("1234")},
		{"another gas limit", returning("45") + `,{"gasLimit":"0x1234"}]`, word("1234")},
		{"another recipient", returning("41") + `,{"feeRecipient":` + code + `}]`, word("c0de0")},
		{"another randao", returning("44") + `,{"prevRandao":` + word("1234") + `}]`, word("1234")},
		{"another price of blobs", returning("4a") + `,{"blobBaseFee":"0x1234"}]`, word("1234")},
		{"a fork without blobs", with("4a") + `,{"time":"0x0"}]`, "invalid opcode: BLOBBASEFEE"},
		{"a fork with them", strings.Replace(returning("4a"), "latest", "0x28", 1) + `,{"time":"0xffffffff"}]`, word("1")},
		{"a fork with a base fee", strings.Replace(returning("48"), "latest", "0x2", 1) + `,{"number":"0x30","time":"0xffffffff"}]`, word("0")},
		{"beacon root", returning("44") + `,{"beaconRoot":` + word("1") + `}]`, `block override "beaconRoot" is not supported for this RPC method`},
		{"gas is free", returning("3a") + `]`, word("0")},
		{"slots", `[{"to":` + code + `},"latest",{` + code + `:{"code":"0x60005460005260206000f3","stateDiff":{` + word("0") + `:` + word("2a") + `}}}]`, word("2a")},
		{"all slots", `[{"to":` + code + `},"latest",{` + code + `:{"code":"0x60005460005260206000f3","state":{` + word("1") + `:` + word("2a") + `}}}]`, word("0")},
		{"both", `[{"to":` + code + `},"latest",{` + code + `:{"state":{},"stateDiff":{}}}]`, "account 0x00000000000000000000000000000000000c0De0 has both 'state' and 'stateDiff'"},
		{"no money", `[{"from":` + rich + `,"to":` + code + `,"value":"0x1"}]`, "err: insufficient funds for gas * price + value: address 0x000000000000000000000000000000000000F00D have 0 want 1 (supplied gas 50000000)"},
		{"money", `[{"from":` + rich + `,"to":` + code + `,"value":"0x1"},"latest",{` + rich + `:{"balance":"0x1"}}]`, `"0x"`},
		{"balance", returning("3331")[:len(returning("3331"))-1] + `,` + rich + `:{"balance":"0x7","nonce":"0x5"}}]`, word("7")},
		{"moved", `[{"to":` + code + `,"input":"0x1234"},"latest",{"0x` + zero[1:] + `4":{"movePrecompileToAddress":` + code + `}}]`, `"0x1234"`},
		{"moved from nowhere", `[{"to":` + code + `},"latest",{` + rich + `:{"movePrecompileToAddress":` + code + `}}]`, "account 0x000000000000000000000000000000000000F00D is not a precompile"},
		{"input before data", `[{"to":"0x` + zero[1:] + `4","input":"0x12","data":"0x34"}]`, `"0x12"`},
		{"data", `[{"to":"0x` + zero[1:] + `4","data":"0x34"}]`, `"0x34"`},
		{"creation", `[{"data":"0x60aa60005260206000f3"}]`, word("aa")},
		{"revert", with("60aa60005260016000fd") + `]`, `execution reverted "0x00"`},
		{"endless", with(loop[3:len(loop)-1]) + `]`, "out of gas"},
		{"invalid", with("fe") + `]`, "invalid opcode: INVALID"},
		{"both prices", `[{"gasPrice":"0x1","maxFeePerGas":"0x1"}]`, "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"},
		{"another chain", `[{"chainId":"0x1"}]`, "chainId does not match node's (have=1, want=3503995874084926)"},
		{"before London", `[{"to":` + code + `,"maxFeePerGas":"0x1"},"0x1"]`, "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active"},
		{"price without money", `[{"to":` + code + `,"gasPrice":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}]`, "err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 required balance exceeds 256 bits (supplied gas 50000000)"},
		{"no such block", `[{},"0x37"]`, "header not found"},
		{"no params", `[]`, "missing value for required argument 0"},
	} {
		if got := ask(t, all, "eth_call", c.params); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.want)
		}
	}
}

func testEstimate(t *testing.T, n api.Backend) {
	all, named := evm.Methods(n, patient), evm.Methods(naming(n), patient)
	for _, c := range []struct{ what, params, want string }{
		{"transfer", `[{"to":` + rich + `}]`, `"0x5208"`},
		{"code", with("600160005500") + `]`, `"0xa9da"`},
		{"revert", with("6308c379a060e01b6000526020600452600260245261"+"6e6f"+"60f01b60445260646000fd") + `]`,
			`execution reverted: no "0x08c379a0` + word("20")[3:67] + word("2")[3:67] + "6e6f" + strings.Repeat("0", 60) + `"`},
		{"endless", with(loop[3:len(loop)-1]) + `]`, "gas required exceeds allowance (16777216)"},
		{"blobs", `[{"maxFeePerBlobGas":"0x1"}]`, "maxFeePerBlobGas specified without blobVersionedHashes"},
	} {
		if got := ask(t, all, "eth_estimateGas", c.params); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if got := ask(t, named, "eth_estimateGas", c.params); got != c.want {
			t.Errorf("%s, with a named signature: %s, want %s", c.what, got, c.want)
		}
	}
}

// naming is the node with an account that was named for a signature which nothing has.
func naming(n api.Backend) api.Backend {
	n.Signatures = func() execution.Signatures { return execution.Signatures{{}: {}} }
	return n
}

// With and without named signatures, and by the rules of Osaka, too, estimates and their errors are the same.
func testEstimates(t *testing.T, n api.Backend) {
	whole, own, config := *n.Genesis, *n.Genesis.Genesis, *n.Genesis.Config // those of n are other tests', too
	config.OsakaTime = new(uint64)
	whole.Genesis, own.Config = &own, &config
	later := n
	later.Genesis = &whole
	calls, leaves := "60005f5f5f5f73"+code[3:43]+"5af1", "5a61ea6010600b575f5ffd5b00" // itself without end; reverts with less than 60,000 gas
	for rules, n := range map[string]api.Backend{"": n, "Osaka": later} {
		plain, named := evm.Methods(n, patient), evm.Methods(naming(n), patient)
		for _, params := range []string{
			`[{"to":` + rich + `,"accessList":[{"address":` + code + `,"storageKeys":[]}]}]`,
			`[{"to":` + rich + `,"value":"0x1"}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"value":"0x1"},"latest",{` + rich + `:{"balance":"0x1"}}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"value":"0x5","gasPrice":"0x77359400"},"latest",{` + rich + `:{"balance":"0x5"}}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"value":"0x5","gasPrice":"0x77359400"},"latest",{` + rich + `:{"balance":"0x6"}}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"gasPrice":"0x1"},"latest",{` + rich + `:{"balance":"0xffffffff"}}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"maxFeePerGas":"0x77359400"},"latest",{` + rich + `:{"balance":"0xffffffffffff"}}]`,
			`[{"from":` + rich + `,"to":` + rich + `,"maxFeePerBlobGas":"0x5","blobVersionedHashes":["0x01` + strings.Repeat("0", 62) + `"],"maxFeePerGas":"0x1"},"latest",{` + rich + `:{"balance":"0x5"}}]`,
			`[{"to":` + code + `,"data":"0x1234","gas":"0x5208"}]`,
			`[{"to":` + code + `,"data":"0x` + strings.Repeat("12", 100) + `","gas":"0x5500"}]`,
			`[{"to":` + code + `,"data":"0x` + strings.Repeat("12", 3000) + `"}]`,
			`[{"data":"0x60aa60005260206000f3"}]`,
			with(calls) + `]`,
			with(leaves) + `]`,
			with("5f355f55") + `]`,
			with("fe") + `]`,
			strings.Replace(with(loop[3:len(loop)-1])+`]`, `"from"`, `"gas":"0x2000000","from"`, 1),
			`[{"to":"0x` + zero[1:] + `1","data":"0x1234"}]`,
		} {
			want := ask(t, plain, "eth_estimateGas", params)
			if got := ask(t, named, "eth_estimateGas", params); got != want {
				t.Errorf("%s %s: with a named signature %s, without %s", rules, params, got, want)
			}
		}
	}
}

// An execution that has gas for years ends with its time, or with the client's connection.
func testTimeout(t *testing.T, n api.Backend) {
	all := evm.Methods(n, evm.Options{Gas: 1 << 62, Timeout: time.Millisecond, MaxTrace: patient.MaxTrace})
	for _, method := range []string{"eth_call", "eth_estimateGas"} {
		if got := ask(t, all, method, strings.Replace(with(loop[3:len(loop)-1])+`]`, `"from"`, `"gas":"0x3fffffffffffffff","from"`, 1)); got != "execution aborted (timeout = 1ms)" {
			t.Errorf("%s: %s", method, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := evm.Methods(n, evm.Options{Gas: 1 << 62, Timeout: time.Hour, MaxTrace: patient.MaxTrace})["eth_call"](ctx, []byte(with(loop[3:len(loop)-1])+`]`))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// lost is the states of a node that keeps none.
type lost struct{ api.States }

func (lost) StateAt(*types.Header) (*state.StateDB, error) { return nil, errors.New("gone") }

// The traces of a block are those of its transactions, and agree with its receipts.
func testTrace(t *testing.T, n api.Backend) {
	all := evm.Methods(n, evm.Options{Gas: patient.Gas, Timeout: time.Hour, MaxTrace: 1 << 30})
	for number := uint64(1); number <= 54; number++ {
		block, err := n.Sealed(number)
		if err != nil {
			t.Fatal(err)
		}
		receipts, err := block.Receipts()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []string{``, `,{"tracer":"callTracer","tracerConfig":{"withLog":true}}`} {
			var whole []struct {
				TxHash string
				Result json.RawMessage
			}
			parse(t, ask(t, all, "debug_traceBlockByNumber", fmt.Sprintf(`["%#x"%s]`, number, o)), &whole)
			if len(whole) != len(receipts) {
				t.Fatalf("block %d has %d traces", number, len(whole))
			}
			for i, r := range receipts {
				agree(t, r, string(whole[i].Result))
				if i < len(receipts)-1 {
					continue
				}
				if single := ask(t, all, "debug_traceTransaction", `["`+r.TxHash.Hex()+`"`+o+`]`); single != string(whole[i].Result) || whole[i].TxHash != r.TxHash.Hex() {
					t.Fatalf("block %d, transaction %d: %.300s, and in its block %.300s", number, i, single, whole[i].Result)
				}
			}
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"debug_traceTransaction", `[` + word("1") + `]`, "transaction not found"},
		{"debug_traceBlockByNumber", `["0x0"]`, "genesis is not traceable"},
		{"debug_traceBlockByNumber", `["0x99"]`, "block 0x99 not found"},
		{"debug_traceCall", `[{},"pending"]`, "tracing on top of pending is not supported"},
		{"trace_block", `["pending"]`, "tracing on top of pending is not supported"},
		{"trace_block", `["0x99"]`, "null"},
		{"trace_block", `[` + word("99") + `]`, "null"},
		{"trace_block", `["earliest"]`, "[]"},
		{"trace_filter", `[{"fromBlock":"earliest","toBlock":"0x0"}]`, "[]"},
		{"trace_filter", `[{"fromBlock":"0x2","toBlock":"0x1"}]`, "[]"},
		{"trace_filter", `[{"fromBlock":"0xffff","toBlock":"0xfffff"}]`, "[]"},
		{"trace_filter", `[{"fromBlock":"0xffff"}]`, "[]"},
		{"trace_filter", `[{"toBlock":"pending"}]`, "tracing on top of pending is not supported"},
		{"debug_traceCall", `[{},"0x0",{"txIndex":"0x0"}]`, "no transaction in genesis"},
		{"debug_traceCall", `[{},"0x99"]`, "header not found"},
		{"debug_traceCall", `[{},"0x1",{"timeout":"soon"}]`, `the trace's timeout: time: invalid duration "soon"`},
	} {
		if got := ask(t, all, c.method, c.params); got != c.want {
			t.Errorf("%s: %s, want %s", c.params, got, c.want)
		}
	}
	for _, o := range []string{`"{result: function() { return 1 }}"`, `"muxTracer","tracerConfig":{"{}":{}}`} {
		if got := ask(t, all, "debug_traceBlockByNumber", `["0x1",{"tracer":`+o+`}]`); !strings.HasPrefix(got, `unknown tracer "{`) || !strings.Contains(got, "none in JavaScript") {
			t.Errorf("a tracer in JavaScript: %s", got)
		}
	}
	large := `["0x5bc704d4eb4ce7fe319705d2f888516961426a177f2799c9f934b5df7466dd33"`
	small := evm.Methods(n, evm.Options{Gas: patient.Gas, Timeout: time.Hour, MaxTrace: 500})
	for _, o := range []string{`]`, `,{"tracer":"callTracer","tracerConfig":{"withLog":true}}]`} {
		if got := ask(t, small, "debug_traceTransaction", large+o); !strings.HasPrefix(got, "the trace is too large") {
			t.Errorf("%s: %.200s", o, got)
		}
	}
	if got := ask(t, all, "debug_traceTransaction", large+`,{"limit":1}]`); strings.Count(got, `"pc"`) != 1 {
		t.Errorf("one step: %.300s", got)
	}
	n.States = lost{n.States}
	if got := ask(t, evm.Methods(n, patient), "debug_traceTransaction", large+`]`); got != "missing trie node: the state after block 1 is not kept (gone)" {
		t.Errorf("without the state: %s", got)
	}
}

// agree holds a trace against its receipt.
func agree(t *testing.T, r *types.Receipt, text string) {
	t.Helper()
	var trace struct {
		GasUsed, Gas json.RawMessage
		Failed       *bool
		Error        string
		frame
	}
	parse(t, text, &trace)
	gas, failed := trace.Gas, trace.Failed != nil && *trace.Failed
	if trace.Failed == nil { // a trace of calls
		gas, failed = trace.GasUsed, trace.Error != ""
		if logs := trace.count(); logs != len(r.Logs) {
			t.Errorf("%v: %d logs, want %d", r.TxHash, logs, len(r.Logs))
		}
	}
	if string(gas) != fmt.Sprint(r.GasUsed) && string(gas) != fmt.Sprintf(`"%#x"`, r.GasUsed) {
		t.Errorf("%v: %s of gas, want %d", r.TxHash, gas, r.GasUsed)
	}
	if len(r.PostState) == 0 && failed != (r.Status == types.ReceiptStatusFailed) {
		t.Errorf("%v: failed %t, status %d", r.TxHash, failed, r.Status)
	}
}

// frame counts logs.
type frame struct {
	Calls []frame
	Logs  []any
}

func (f frame) count() int {
	n := len(f.Logs)
	for _, c := range f.Calls {
		n += c.count()
	}
	return n
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%.300s: %v", text, err)
	}
}

// Whatever a client sends, it gets an answer.
func FuzzParams(f *testing.F) {
	f.Add(with("600160005500") + `,{"number":"0x1234","time":"0x1"}]`)
	f.Add(`[{"from":` + rich + `,"to":null,"gas":"0x5208","maxFeePerGas":"0x1","maxPriorityFeePerGas":"0x0","value":"0x1","accessList":[],"authorizationList":[]}]`)
	f.Add(`[{"fromBlock":"0x0","toBlock":"0x2","toAddress":[` + rich + `],"after":1,"count":2}]`)
	f.Add(`[` + word("1") + `,{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}]`)
	all := evm.Methods(node(f), evm.Options{Gas: 100_000, Timeout: time.Hour, MaxTrace: 100_000})
	f.Fuzz(func(t *testing.T, params string) {
		for _, method := range all {
			if _, err := method(t.Context(), []byte(params)); err != nil && err.Error() == "" {
				t.Error("an error without a text")
			}
		}
	})
}
