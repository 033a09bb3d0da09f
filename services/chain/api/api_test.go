package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/gasprice"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/node"
	"dyno/services/chain/store"
)

// open returns the public chain.
func open(t testing.TB) Backend {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata/archive", "genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := genesis.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := blockchain.Open(t.Context(), t.TempDir(), g, blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	blocks, err := os.Open(filepath.Join("../testdata/archive", "chain.rlp"))
	if err != nil {
		t.Fatal(err)
	}
	defer blocks.Close()
	if err := blockchain.Import(t.Context(), c, blocks, func() {}); err != nil {
		t.Fatal(err)
	}
	return Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: ReadOnly{}, Feed: ReadOnly{}, Recent: NewRecent()}
}

// oracle shows the chain to go-ethereum's gasprice.Oracle.
type oracle struct{ Backend }

func (o oracle) HeaderByNumber(_ context.Context, n rpc.BlockNumber) (*types.Header, error) {
	return o.Header(rpc.BlockNumberOrHashWithNumber(n))
}

func (o oracle) BlockByNumber(_ context.Context, n rpc.BlockNumber) (*types.Block, error) {
	s, err := o.Sealed(o.NumberOf(n))
	if err != nil {
		return nil, err
	}
	return s.Block, nil
}

func (o oracle) GetReceipts(ctx context.Context, hash common.Hash) (types.Receipts, error) {
	s, err := o.Find(ctx, rpc.BlockNumberOrHashWithHash(hash, true))
	if err != nil {
		return nil, err
	}
	return s.Receipts()
}

func (oracle) Pending() (*types.Block, types.Receipts, *state.StateDB) { return nil, nil, nil }
func (o oracle) ChainConfig() *params.ChainConfig                      { return o.Genesis.Config }
func (oracle) SubscribeChainHeadEvent(chan<- core.ChainHeadEvent) event.Subscription {
	return event.NewSubscription(func(quit <-chan struct{}) error { <-quit; return nil })
}

// Fees of all forks are those that go-ethereum computes.
func TestFees(t *testing.T) {
	b := open(t)
	geth := gasprice.NewOracle(oracle{b}, gasprice.Config{Blocks: tipBlocks, Percentile: tipPercentile, MaxHeaderHistory: mostHistory, MaxBlockHistory: mostHistory,
		MaxPrice: mostTip, IgnorePrice: big.NewInt(2)}, leastTip)
	methods := Methods(b, "")
	ask := func(method, params string) string {
		result, err := methods[method](t.Context(), []byte(params))
		text, err2 := json.Marshal(result)
		if err := errors.Join(err, err2); err != nil {
			t.Fatalf("%s %s: %v", method, params, err)
		}
		return string(text)
	}
	tip, err := geth.SuggestTipCap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ask("eth_maxPriorityFeePerGas", "[]"), `"0x`+tip.Text(16)+`"`; got != want {
		t.Errorf("a tip of %s, want %s", got, want)
	}
	for _, count := range []uint64{1, 7, 54, 55, 2000} {
		for _, last := range []uint64{0, 1, 26, 27, 53, 54} {
			got := ask("eth_feeHistory", fmt.Sprintf(`["%#x","%#x",[0,10,50,99.5,100]]`, count, last))
			oldest := last + 1 - min(count, last+1)
			want := &history{OldestBlock: (*hexutil.Big)(new(big.Int).SetUint64(oldest))}
			for n := oldest; n <= last; n++ { // one by one: where the rules change, its answer for several depends on chance
				_, rewards, base, ratio, blob, blobRatio, err := geth.FeeHistory(t.Context(), 1, rpc.BlockNumber(n), []float64{0, 10, 50, 99.5, 100})
				if err != nil {
					t.Fatal(err)
				}
				want.Reward = append(want.Reward, hexes(rewards[0]))
				want.BaseFee = append(want.BaseFee[:max(len(want.BaseFee)-1, 0)], hexes(base)...)
				want.GasUsedRatio = append(want.GasUsedRatio, ratio...)
				want.BlobBaseFee = append(want.BlobBaseFee[:max(len(want.BlobBaseFee)-1, 0)], hexes(blob)...)
				want.BlobGasUsedRatio = append(want.BlobGasUsedRatio, blobRatio...)
			}
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(text) {
				t.Errorf("%d blocks up to %d:\n got %s\nwant %s", count, last, got, text)
			}
		}
	}
}

func hexes(numbers []*big.Int) (out []*hexutil.Big) {
	for _, n := range numbers {
		out = append(out, (*hexutil.Big)(n))
	}
	return out
}

// old is a chain whose states are not kept.
type old struct{ States }

func (old) StateAt(*types.Header) (*state.StateDB, error) {
	return nil, errors.New("it has 200 newer ones")
}

// A state that is not kept is an error in go-ethereum's words, and what is in blocks is there.
func TestOldState(t *testing.T) {
	b := open(t)
	b.States = old{b.States}
	methods := Methods(b, "")
	for _, method := range []string{"eth_getBalance", "eth_getCode", "eth_getTransactionCount"} {
		_, err := methods[method](t.Context(), []byte(`["0x7435ed30a8b4aeb0877cef0c6e8cffe834eb865f","0x5"]`))
		if err == nil || !strings.HasPrefix(err.Error(), "missing trie node: the state after block 5 is not kept") || jsonrpc.AsError(err).Code != jsonrpc.ServerError {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := methods["eth_getBlockByNumber"](t.Context(), []byte(`["0x5",true]`)); err != nil {
		t.Error(err)
	}
}

// pool has one transaction, which waits.
type pool struct {
	ReadOnly
	tx  *types.Transaction
	got [][]byte
}

func (p *pool) Waiting(hash common.Hash) *types.Transaction {
	if hash == p.tx.Hash() {
		return p.tx
	}
	return nil
}

func (*pool) Nonce(of common.Address) (uint64, bool) { return 7, of == common.Address{1} }

func (p *pool) Submit(_ context.Context, raws [][]byte) []node.Submitted {
	p.got = append(p.got, raws...)
	done := make([]node.Submitted, len(raws))
	for i, raw := range raws {
		if done[i].Hash[0] = raw[0]; raw[0] == 0xee {
			done[i].Err = errors.New("nonce too low")
		}
	}
	return done
}

// Transactions that wait are found without a place, count as pending, and are taken alone and in
// arrays.
func TestPool(t *testing.T) {
	b := open(t)
	sealed, err := b.Sealed(b.States.Head().Number.Uint64())
	if err != nil {
		t.Fatal(err)
	}
	signed := sealed.Transactions()[0]
	waiting := types.NewTx(&types.LegacyTx{Nonce: 1, GasPrice: big.NewInt(5), To: &common.Address{2}, Value: new(big.Int), V: new(big.Int), R: new(big.Int), S: new(big.Int)})
	p := &pool{tx: waiting}
	b.Pool = p
	methods := Methods(b, "")
	ask := func(method, params string) string {
		result, err := methods[method](t.Context(), []byte(params))
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := ask("eth_getTransactionByHash", `["`+waiting.Hash().Hex()+`"]`); !strings.HasPrefix(got, `{"blockHash":null,"blockNumber":null,"blockTimestamp":null`) {
		t.Error(got)
	}
	raw, _ := waiting.MarshalBinary() // it was just made
	if got := ask("debug_getRawTransaction", `["`+waiting.Hash().Hex()+`"]`); got != `"0x`+common.Bytes2Hex(raw)+`"` {
		t.Error(got)
	}
	p.tx = signed // in a block and in the pool, for a moment
	if got := ask("eth_getTransactionByHash", `["`+signed.Hash().Hex()+`"]`); !strings.Contains(got, `"blockNumber":"0x36"`) {
		t.Error(got)
	}
	for of, want := range map[common.Address]string{{1}: `"0x7"`, {2}: `"0x0"`} {
		if got := ask("eth_getTransactionCount", `["`+of.Hex()+`","pending"]`); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
	if got := ask("eth_getTransactionCount", `["`+common.Address{1}.Hex()+`","latest"]`); got != `"0x0"` {
		t.Error(got)
	}
	if got := ask("eth_sendRawTransaction", `["0x0102"]`); got != `"`+(common.Hash{1}).Hex()+`"` {
		t.Error(got)
	}
	calls := []jsonrpc.Call{{Params: []byte(`["0x03"]`)}, {Params: []byte(`["0x0"]`)}, {Params: []byte(`["0xEE"]`)}, {Params: []byte(`["0x04"]`)}}
	Together(b)["eth_sendRawTransaction"](t.Context(), calls)
	if calls[0].Result != (common.Hash{3}).Hex() || calls[1].Error.Code != jsonrpc.InvalidParams || calls[2].Error.Message != "nonce too low" || calls[3].Result != (common.Hash{4}).Hex() || len(p.got) != 4 {
		t.Errorf("%+v", calls)
	}
}

// late is a node that seals a transaction when it is asked for the next block.
type late struct {
	ReadOnly
	Blocks
	tx     *types.Transaction
	sealed bool
}

func (l *late) Transaction(hash common.Hash) (uint64, uint32, error) {
	if !l.sealed {
		return 0, 0, store.ErrNotFound
	}
	return l.Blocks.Transaction(hash)
}

func (l *late) Waiting(common.Hash) *types.Transaction { return l.tx }

func (l *late) Nonce(common.Address) (uint64, bool) { return l.tx.Nonce() + 1, true }

func (l *late) Grown(uint64) <-chan struct{} {
	l.sealed = true
	grown := make(chan struct{})
	close(grown)
	return grown
}

// The receipt of a transaction that the next block may have waits for that block.
func TestReceiptOfTheNextBlock(t *testing.T) {
	b := open(t)
	sealed, err := b.Sealed(b.States.Head().Number.Uint64())
	if err != nil {
		t.Fatal(err)
	}
	l := &late{Blocks: b.Blocks, tx: sealed.Transactions()[0]}
	b.Blocks, b.Pool, b.Feed = l, l, l
	got, err := Methods(b, "")["eth_getTransactionReceipt"](t.Context(), []byte(`["`+l.tx.Hash().Hex()+`"]`))
	if r, ok := got.(*Receipt); err != nil || !ok || r == nil {
		t.Errorf("%v, %v", got, err)
	}
}

// one is a pool that accepts, at the cost of what it must return.
type one struct{ ReadOnly }

func (one) Submit(_ context.Context, raws [][]byte) []node.Submitted {
	return make([]node.Submitted, len(raws))
}

// The most frequent call allocates the transaction's bytes, the lists that the pool takes and
// returns, and the hash as text.
func TestSendAllocates(t *testing.T) {
	m := methods{Backend: Backend{Pool: one{}}}
	params := []byte(`["0x` + strings.Repeat("02f86d8205", 22) + `"]`)
	if n := testing.AllocsPerRun(100, func() { _, _ = m.sendRawTransaction(t.Context(), params) }); n > 6 {
		t.Errorf("%v allocations", n)
	}
}

// Recent keeps the blocks that were used last, as many as its bounds permit.
func TestRecent(t *testing.T) {
	r := NewRecent()
	add := func(number, gas uint64) {
		r.add(number, &Sealed{Block: types.NewBlockWithHeader(&types.Header{GasUsed: gas})})
	}
	for n := range uint64(100) {
		add(n, 1000)
		add(n, 1000) // by another goroutine
		r.get(0)
	}
	if r.get(0) == nil || r.get(99) == nil || r.get(68) != nil || r.blocks.Len() != recentBlocks || r.gas != recentBlocks*1000 {
		t.Errorf("%d blocks with %d gas", r.blocks.Len(), r.gas)
	}
	if add(100, 2*recentGas); r.blocks.Len() != 1 || r.get(100) == nil {
		t.Errorf("beside a block of much gas there are %d others", r.blocks.Len()-1)
	}
	if add(101, 5); r.blocks.Len() != 1 || r.gas != 5 {
		t.Errorf("%d blocks with %d gas", r.blocks.Len(), r.gas)
	}
	var none *Recent
	if none.add(1, nil); none.get(1) != nil {
		t.Error("without a cache there is a block")
	}
}
