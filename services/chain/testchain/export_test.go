package testchain

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
)

// Records returns the number of the journal's first record, and the next one.
func (c *Chain) Records() (first, next uint64) { return c.log.Bounds() }

// Bytes returns what the journal takes on the disk.
func (c *Chain) Bytes() int64 { return c.log.Size() }

// FillSignatures names accounts for as many signatures as may have one. They are numbers.
func (c *Chain) FillSignatures() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signatures = execution.Signatures{}
	for n := range uint16(mostSignatures) {
		c.signatures[[crypto.SignatureLength]byte{byte(n >> 8), byte(n)}] = common.Address{1}
	}
}

// LimitRecords bounds the records of checkpoints until the function that it returns is called.
func LimitRecords(bytes int) (back func()) {
	was := largestRecord
	largestRecord = bytes
	return func() { largestRecord = was }
}

// BeginBefore has new journals begin as those of before until the function that it returns is called.
func BeginBefore() (back func()) {
	was := begun
	begun = begunBefore
	return func() { begun = was }
}

// Ask begins a question to another node for a call, until the function that it returns is called.
func Ask(ctx context.Context) (question context.Context, done func(), err error) {
	return newAsking(ctx).begin()
}

// Replace has a call do something else until the function that it returns is called.
func Replace(method string, do func(c *Chain, was func() (any, error)) (any, error)) (back func()) {
	was := calls[method]
	calls[method] = func(c *Chain, params json.RawMessage) (any, error) {
		return do(c, func() (any, error) { return was(c, params) })
	}
	return func() { calls[method] = was }
}

// Before makes a call under the record that journals of before have of it.
func (c *Chain) Before(record string, params string) error {
	_, err := c.do(context.Background(), record, json.RawMessage(params))
	return err
}

// rules are those of a test chain.
var rules = sync.OnceValues(func() (*genesis.Genesis, *execution.Executor) {
	g := genesis.Test(0)
	return g, execution.New(g)
})

// DecodePoint reads a block with a receipt, as another node answers them, and begins the one that follows.
func DecodePoint(block, receipt []byte, bare bool) {
	p := forkPoint{Block: block, Receipts: []hexutil.Bytes{receipt}, Bare: bare}
	b, _, err := p.decode()
	if err != nil {
		return
	}
	g, executor := rules()
	if h := b.Header(); h.ExcessBlobGas != nil {
		eip4844.CalcBlobFee(g.Config, h)
	}
	if follows(b.Header()) == nil {
		next, err := executor.Next(b.Header(), b.Time()+1)
		if err == nil {
			eip4844.CalcBlobFee(g.Config, next)
		}
	}
}

// Tries returns the bytes of the tries in memory that no checkpoint had.
func (c *Chain) Tries() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, nodes, _ := c.states.tries.Size()
	return float64(nodes)
}

// Assemble reads a block and a receipt, as another node's methods answer them.
func Assemble(block, receipt []byte) {
	g, _ := rules()
	if b := shown(g.Block().Header(), block); b != nil {
		raw, err := rlp.EncodeToBytes(b)
		if err != nil {
			return
		}
		p := forkPoint{Block: raw, Receipts: canonical([]json.RawMessage{receipt})}
		_, _, _ = p.decode()
		lacks(b)
	}
}
