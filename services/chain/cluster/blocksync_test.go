package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/services/chain/peers"
)

var signer = types.LatestSignerForChainID(big.NewInt(1337))

const length = 500 // blocks

// honest is a chain of blocks, each as RLP, with a transfer each.
var honest = sync.OnceValue(func() (raws [][]byte) {
	key, err := crypto.ToECDSA(slices.Repeat([]byte{1}, 32))
	if err != nil {
		panic(err)
	}
	parent := common.Hash{}
	for n := range length + 1 {
		tx := types.MustSignNewTx(key, signer, &types.DynamicFeeTx{ChainID: big.NewInt(1337), Nonce: uint64(n), Gas: 21000, GasFeeCap: new(big.Int), GasTipCap: new(big.Int), To: &common.Address{}})
		h := &types.Header{ParentHash: parent, Number: big.NewInt(int64(n)), Difficulty: new(big.Int), GasLimit: 30e6, BaseFee: new(big.Int)}
		block := types.NewBlock(h, &types.Body{Transactions: types.Transactions{tx}}, nil, trie.NewStackTrie(nil))
		parent = block.Hash()
		raws = append(raws, encodeBlock(block))
	}
	return raws
})

func encodeBlock(block *types.Block) []byte {
	raw, err := rlp.EncodeToBytes(block)
	if err != nil {
		panic(err)
	}
	return raw
}

func decodeBlock(raw []byte) *types.Block {
	block := new(types.Block)
	if err := rlp.DecodeBytes(raw, block); err != nil {
		panic(err)
	}
	return block
}

// chain commits what follows its last block. Commits take time.
type chain struct {
	mu     sync.Mutex
	blocks []*types.Block
	takes  time.Duration
	disk   error
}

func newChain() *chain { return &chain{blocks: []*types.Block{decodeBlock(honest()[0])}} }

func (c *chain) Head() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[len(c.blocks)-1].NumberU64()
}

func (c *chain) Verify(b *types.Block) error { return verifyBlock(b, signer) }

func (c *chain) Commit(_ context.Context, b *types.Block) error {
	time.Sleep(c.takes)
	if c.disk != nil {
		return c.disk
	}
	if head := c.blocks[len(c.blocks)-1]; b.ParentHash() != head.Hash() || b.NumberU64() != head.NumberU64()+1 {
		return &badBlock{fmt.Errorf("its parent is not block %d", head.NumberU64())}
	}
	if b.GasUsed() > 0 { // what execution would find
		return &badBlock{errors.New("invalid gas used")}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = append(c.blocks, b)
	return nil
}

// peer sends blocks as its test has it.
type peer struct {
	name  string
	head  uint64
	fetch func(ctx context.Context, from uint64, n int) ([][]byte, error)
	mu    sync.Mutex
	asked int
	blame error
}

func (p *peer) ID() string      { return p.name }
func (p *peer) Head() uint64    { return p.head }
func (p *peer) Blame(why error) { p.blame = why }
func (p *peer) Fetch(ctx context.Context, from uint64, n int) ([][]byte, error) {
	p.mu.Lock()
	p.asked += n
	p.mu.Unlock()
	return p.fetch(ctx, from, n)
}

// after sends the right blocks after a while.
func after(d time.Duration) func(context.Context, uint64, int) ([][]byte, error) {
	return func(ctx context.Context, from uint64, n int) ([][]byte, error) {
		select {
		case <-time.After(d):
			return honest()[min(from, length+1):min(from+uint64(n), length+1)], nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// change sends the right blocks but for one.
func change(number uint64, change func(raw []byte) []byte) func(context.Context, uint64, int) ([][]byte, error) {
	return func(ctx context.Context, from uint64, n int) ([][]byte, error) {
		raws, err := after(time.Millisecond)(ctx, from, n)
		raws = slices.Clone(raws)
		if number >= from && number < from+uint64(len(raws)) {
			raws[number-from] = change(raws[number-from])
		}
		return raws, err
	}
}

// reseal changes a block's header.
func reseal(do func(h *types.Header)) func([]byte) []byte {
	return func(raw []byte) []byte {
		b := decodeBlock(raw)
		h := b.Header()
		do(h)
		return encodeBlock(b.WithSeal(h))
	}
}

func unsigned([]byte) []byte {
	tx := types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(1337), To: &common.Address{}, V: new(big.Int), R: big.NewInt(1), S: new(big.Int)})
	h := &types.Header{Number: big.NewInt(77), Difficulty: new(big.Int), BaseFee: new(big.Int)}
	return encodeBlock(types.NewBlock(h, &types.Body{Transactions: types.Transactions{tx}}, nil, trie.NewStackTrie(nil)))
}

func TestSync(t *testing.T) {
	honest()
	good := func() *peer { return &peer{name: "good", head: length, fetch: after(10 * time.Millisecond)} }
	liar := func(number uint64, do func([]byte) []byte) []*peer {
		bad := &peer{name: "bad", head: length, fetch: change(number, do)}
		return []*peer{{name: "good", head: length, fetch: func(ctx context.Context, from uint64, n int) ([][]byte, error) {
			if bad.blame == nil && number >= from && number < from+uint64(n) {
				return nil, peers.ErrBusy // so that the other sends its lie
			}
			return after(10*time.Millisecond)(ctx, from, n)
		}}, bad}
	}
	for _, tt := range []struct {
		name  string
		peers []*peer
		blame string        // of the last peer; "": it is not blamed
		most  time.Duration // that it may take
		fails string        // "": the chain has all
	}{
		{"one peer", []*peer{good()}, "", time.Second, ""},
		{"two peers", []*peer{good(), good()}, "", time.Second, ""},
		{"one block at a time", []*peer{{name: "short", head: length, fetch: func(ctx context.Context, from uint64, n int) ([][]byte, error) {
			return after(time.Millisecond)(ctx, from, 1)
		}}}, "", time.Second, ""},
		{"a slow peer is overtaken", []*peer{good(), {name: "slow", head: length, fetch: after(15 * time.Second)}}, "", 5 * time.Second, ""},
		{"a silent peer is overtaken", []*peer{good(), {name: "silent", head: length, fetch: after(time.Hour)}}, "", 5 * time.Second, ""},
		{"only slow peers", []*peer{{name: "slow", head: length, fetch: after(5 * time.Second)}}, "", time.Minute, ""},
		{"a peer that fails", []*peer{good(), {name: "failing", head: length, fetch: func(context.Context, uint64, int) ([][]byte, error) {
			return nil, peers.ErrGone
		}}}, "", time.Second, ""},
		{"a peer that sends nothing", []*peer{good(), {name: "empty", head: length, fetch: func(context.Context, uint64, int) ([][]byte, error) {
			return nil, nil
		}}}, "", time.Second, ""},
		{"a peer that is behind", []*peer{good(), {name: "behind", head: 100, fetch: after(0)}}, "", time.Second, ""},
		{"cut off", liar(20, func(raw []byte) []byte { return raw[:len(raw)-1] }), "block 20: ", time.Second, ""},
		{"more bytes", liar(20, func(raw []byte) []byte { return append(slices.Clone(raw), 0) }), "block 20: ", time.Second, ""},
		{"no block", liar(499, func([]byte) []byte { return nil }), "block 499: ", time.Second, ""},
		{"another number", liar(77, reseal(func(h *types.Header) { h.Number = big.NewInt(78) })), "block 77: the peer sent block 78", time.Second, ""},
		{"another root of transactions", liar(77, reseal(func(h *types.Header) { h.TxHash = common.Hash{1} })), "block 77: its transactions have the root", time.Second, ""},
		{"an invalid signature", liar(77, unsigned), "block 77: transaction 0: ", time.Second, ""},
		{"another parent", liar(77, reseal(func(h *types.Header) { h.ParentHash = common.Hash{1} })), "block 77: its parent", time.Second, ""},
		{"wrong execution", liar(length, reseal(func(h *types.Header) { h.GasUsed = 1 })), "block 500: invalid gas", time.Second, ""},
		{"only a liar", liar(77, reseal(func(h *types.Header) { h.GasUsed = 1 }))[1:], "block 77: invalid gas", time.Second, ""},
		{"silence only", []*peer{{name: "silent", head: length, fetch: after(time.Hour)}}, "", time.Minute, "not sent within"},
		{"nothing beyond the head of others", []*peer{good(), {name: "boaster", head: 1 << 60, fetch: after(time.Millisecond)}}, "", time.Second, "block 501"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChain()
				var ps []source
				for _, p := range tt.peers {
					ps = append(ps, p)
				}
				began := time.Now()
				err := syncBy(t.Context(), c, ps, 16, 4)
				last := tt.peers[len(tt.peers)-1]
				if tt.name != "only a liar" && tt.fails == "" && (err != nil || c.Head() != length) {
					t.Errorf("the chain has %d blocks, %v", c.Head(), err)
				}
				if tt.fails != "" && (err == nil || !errors.Is(err, errNoPeer) || !strings.Contains(err.Error(), tt.fails)) {
					t.Errorf("%v, want %q", err, tt.fails)
				}
				if tt.name == "nothing beyond the head of others" && c.Head() != length {
					t.Errorf("the chain has %d blocks", c.Head())
				}
				if tt.name == "only a liar" && c.Head() != 76 {
					t.Errorf("the chain has %d blocks, %v", c.Head(), err)
				}
				if tt.blame == "" && last.blame != nil || tt.blame != "" && (last.blame == nil || !strings.HasPrefix(last.blame.Error(), tt.blame)) {
					t.Errorf("blamed for %v, want %q", last.blame, tt.blame)
				}
				if len(tt.peers) > 1 && tt.peers[0].blame != nil {
					t.Errorf("the good peer is blamed for %v", tt.peers[0].blame)
				}
				if took := time.Since(began); took > tt.most {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// While one block is committed, others are verified and fetched, and no more than a window of them.
func TestStagesAreParallelAndBounded(t *testing.T) {
	honest()
	synctest.Test(t, func(t *testing.T) {
		c := newChain()
		c.takes = time.Second
		a := &peer{name: "a", head: length, fetch: after(500 * time.Millisecond)}
		b := &peer{name: "b", head: length, fetch: after(500 * time.Millisecond)}
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- syncBy(ctx, c, []source{a, b}, 10, 4) }()
		time.Sleep(20*time.Second + time.Millisecond)
		synctest.Wait()
		if c.Head() != 19 { // 0.5 s for the first range, and then one each second
			t.Errorf("after 20 s the chain has %d blocks", c.Head())
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		if asked := a.asked + b.asked; asked > 20+10+10+10+10+40 || asked < 60 || a.asked == 0 || b.asked == 0 {
			t.Errorf("%d and %d blocks were requested", a.asked, b.asked)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of its context: %v", err)
		}
	})
}

func TestDiskStopsSync(t *testing.T) {
	c := newChain()
	c.disk = errors.New("no space left")
	p := &peer{name: "a", head: length, fetch: after(0)}
	if err := syncBlocks(t.Context(), c, []source{p}); !errors.Is(err, c.disk) || p.blame != nil {
		t.Errorf("%v, and the peer is blamed for %v", err, p.blame)
	}
}

// direct passes requests to the handler.
type direct struct{ serve peers.Answer }

func (d direct) Request(ctx context.Context, to peers.ID, _ peers.Kind, body []byte) ([]byte, error) {
	return d.serve(ctx, to, body)
}
func (d direct) Blame(peers.ID, error) {}

func TestRemote(t *testing.T) {
	large := make([]byte, answerBytes/3)
	serve := serveBlocks(func() uint64 { return length }, func(n uint64) ([]byte, error) {
		if n > 400 {
			return large, nil
		}
		return honest()[n], nil
	})
	p := newRemote(direct{serve}, peers.ID{}, length)
	for _, tt := range []struct {
		from    uint64
		n, want int
	}{{1, 10, 10}, {390, 200, 13}, {401, 100, 2}, {length, 10, 1}, {length + 1, 10, 0}, {1 << 63, 1, 0}, {0, 1 << 20, 403}} {
		raws, err := p.Fetch(t.Context(), tt.from, tt.n)
		if err != nil || len(raws) != tt.want {
			t.Errorf("%d blocks from %d: %d, %v, want %d", tt.n, tt.from, len(raws), err, tt.want)
		}
	}
	if _, err := serve(t.Context(), peers.ID{}, []byte("short")); !errors.As(err, new(*peers.Offence)) {
		t.Errorf("a malformed request: %v", err)
	}
	c := newChain()
	if err := syncBlocks(t.Context(), c, []source{newRemote(direct{serveBlocks(func() uint64 { return 100 }, func(n uint64) ([]byte, error) { return honest()[n], nil })}, peers.ID{}, 100)}); err != nil || c.Head() != 100 {
		t.Errorf("synced to %d, %v", c.Head(), err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(honest()[1])
	f.Add(unsigned(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		block := new(types.Block)
		if rlp.DecodeBytes(raw, block) == nil {
			_ = verifyBlock(block, signer)
		}
	})
}
