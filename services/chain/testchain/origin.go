package testchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"dyno/services/chain/store"
)

// Bounds of what is kept of an origin.
const (
	mostKnown     = 1 << 20   // accounts, slots and headers
	mostCode      = 256 << 20 // bytes of codes
	recentHeaders = 512       // of older blocks that clients asked for, beside those that contracts did
	recentBlocks  = 32
)

// origin is the block of another node that a chain is a fork of, and what was read of the state after it.
// What is read is put into the journal and kept, so that the calls after it give the same chain when they
// are made again, whether the node is there or not. Its methods may be called from any goroutine.
type origin struct {
	id     uint64 // of the fork, beside others of the same journal
	number uint64 // of the block
	chain  uint64 // its id
	lacks  bool   // its header alone is here
	note   func(*read) error
	code   func([]byte) error // keeps a code
	recent *lru.Cache[uint64, *types.Header]
	blocks *lru.Cache[uint64, *sealed]

	mu       sync.Mutex // guards what follows
	from     *upstream
	reads    []*read
	codes    int                                    // bytes of codes in them
	accounts map[common.Address]*types.StateAccount // nil: there is none
	slots    map[slotOf]common.Hash
	headers  map[uint64]*types.Header
}

type slotOf struct {
	account common.Address
	slot    common.Hash
}

// readOf is the record of what was read of an origin.
const readOf = "read"

// read is that record: an account, a slot of one, or the header of an older block.
type read struct {
	Fork    uint64          `json:"f"`
	Account *common.Address `json:"a,omitempty"`
	Nonce   hexutil.Uint64  `json:"n,omitempty"`
	Balance *hexutil.Big    `json:"b,omitempty"`
	Code    hexutil.Bytes   `json:"c,omitempty"`
	Slot    *common.Hash    `json:"s,omitempty"`
	Value   *common.Hash    `json:"v,omitempty"`
	Header  hexutil.Bytes   `json:"h,omitempty"` // in RLP
}

// newOrigin returns the origin of a fork from a block, of which nothing else is known.
func (c *Chain) newOrigin(p *forkPoint, block *types.Block, states *states) (*origin, error) {
	u, err := newUpstream(p.URL)
	if err != nil {
		return nil, err
	}
	o := &origin{
		id: p.ID, number: block.NumberU64(), chain: uint64(p.ChainID), lacks: lacks(block), from: u, code: states.putCode,
		recent: lru.NewCache[uint64, *types.Header](recentHeaders), blocks: lru.NewCache[uint64, *sealed](recentBlocks),
		accounts: map[common.Address]*types.StateAccount{}, slots: map[slotOf]common.Hash{}, headers: map[uint64]*types.Header{},
	}
	o.note = func(r *read) error {
		params, err := json.Marshal([]*read{r})
		if err == nil {
			params, err = json.Marshal(call{Method: readOf, Params: params})
		}
		if err == nil {
			err = c.log.AppendAsync([][]byte{params}, nil)
		}
		return err
	}
	states.origin = o
	return o, nil
}

// upstream is the node, wherever it is now.
func (o *origin) upstream() *upstream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.from
}

// move says where the node is now.
func (o *origin) move(to *upstream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from.close()
	o.from = to
}

// learn keeps what was read, unless another reader was first, and puts it into the journal if it is not
// from there.
func (o *origin) learn(r *read, journal bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, err := o.has(r)
	if known || err != nil {
		return err
	}
	if len(o.reads) >= mostKnown || o.codes+len(r.Code) > mostCode {
		return fmt.Errorf("more than %d accounts and slots of the node that is forked were read, or %d bytes of codes: begin again with anvil_reset", mostKnown, mostCode)
	}
	if journal {
		if err := o.note(r); err != nil {
			return err
		}
	}
	switch {
	case r.Slot != nil:
		o.slots[slotOf{*r.Account, *r.Slot}] = *r.Value
	case r.Account != nil:
		if err := o.code(r.Code); err != nil {
			return err
		}
		o.accounts[*r.Account] = r.account()
	default:
		header := new(types.Header)
		if err := rlp.DecodeBytes(r.Header, header); err != nil {
			return err
		}
		o.headers[header.Number.Uint64()] = header
	}
	o.reads, o.codes = append(o.reads, r), o.codes+len(r.Code)
	return nil
}

// has reports whether that which a record is about is known. The error means that it is about nothing.
func (o *origin) has(r *read) (known bool, err error) {
	switch {
	case r.Slot != nil && r.Account != nil && r.Value != nil:
		_, known = o.slots[slotOf{*r.Account, *r.Slot}]
	case r.Slot == nil && r.Account != nil:
		_, known = o.accounts[*r.Account]
	case r.Account != nil || r.Slot != nil || len(r.Header) == 0:
		err = errors.New("a record of what was read of the node that is forked is about nothing")
	}
	return known, err
}

// account is the account that a record is about; nil: there is none.
func (r *read) account() *types.StateAccount {
	a := &types.StateAccount{Nonce: uint64(r.Nonce), Balance: new(uint256.Int), Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash.Bytes()}
	if r.Balance != nil {
		a.Balance = uint256.MustFromBig(r.Balance.ToInt())
	}
	if len(r.Code) > 0 {
		a.CodeHash = crypto.Keccak256(r.Code)
	}
	if isNone(a) {
		return nil
	}
	return a
}

// isNone reports whether an account is one that states do not have.
func isNone(a *types.StateAccount) bool {
	return a == nil || a.Nonce == 0 && a.Balance.IsZero() && common.BytesToHash(a.CodeHash) == types.EmptyCodeHash
}

// account returns an account after the block; nil if there is none.
func (o *origin) account(a *asking, of common.Address) (*types.StateAccount, error) {
	for {
		o.mu.Lock()
		account, known := o.accounts[of]
		o.mu.Unlock()
		if known && account != nil {
			return account.Copy(), nil
		} else if known {
			return nil, nil
		}
		r := &read{Fork: o.id, Account: &of}
		err := o.upstream().accounts(a, o.number, r)
		if err == nil {
			err = o.learn(r, true)
		}
		if err != nil {
			return nil, err
		}
	}
}

// slot returns a slot after the block.
func (o *origin) slot(a *asking, of common.Address, slot common.Hash) (common.Hash, error) {
	for {
		o.mu.Lock()
		value, known := o.slots[slotOf{of, slot}]
		o.mu.Unlock()
		if known {
			return value, nil
		}
		r := &read{Fork: o.id}
		err := o.upstream().slot(a, of, slot, o.number, r)
		if err == nil {
			err = o.learn(r, true)
		}
		if err != nil {
			return common.Hash{}, err
		}
	}
}

// ancestor returns the header of a block before it, for a contract that asks for its hash.
func (o *origin) ancestor(a *asking, number uint64) (*types.Header, error) {
	for {
		if header := o.known(number); header != nil {
			return header, nil
		}
		header, err := o.header(a, number)
		r := &read{Fork: o.id}
		if err == nil {
			r.Header, err = rlp.EncodeToBytes(header)
		}
		if err == nil {
			err = o.learn(r, true)
		}
		if err != nil {
			return nil, err
		}
	}
}

// known is the header of a block before it that a contract has asked for; nil: none has.
func (o *origin) known(number uint64) *types.Header {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.headers[number]
}

// header returns the header of a block before it.
func (o *origin) header(a *asking, number uint64) (*types.Header, error) {
	if header := o.known(number); header != nil {
		return header, nil
	}
	if header, ok := o.recent.Get(number); ok {
		return header, nil
	}
	header, err := o.upstream().header(a, number)
	if err == nil {
		o.recent.Add(number, header)
	}
	return header, err
}

// block returns a block before it, which cannot be executed over. The error is Lacking where its header alone
// is known.
func (o *origin) block(a *asking, number uint64) (*sealed, error) {
	if s, ok := o.blocks.Get(number); ok {
		return s, nil
	}
	p, err := o.upstream().point(a, number)
	if err != nil {
		return nil, err
	}
	s := &sealed{}
	if s.block, s.receipts, err = p.decode(); err != nil {
		return nil, err
	}
	if p.Bare && lacks(s.block) {
		return nil, Lacking(number)
	}
	o.blocks.Add(number, s)
	return s, nil
}

// before returns the place of a transaction of a block before the fork; store.ErrNotFound if it is in none.
func (o *origin) before(a *asking, hash common.Hash) (place, error) {
	at, err := o.upstream().transaction(a, hash)
	switch {
	case err != nil:
		return at, err
	case at.number == o.number && o.lacks:
		return at, Lacking(at.number)
	case at.number >= o.number: // a whole block here does not have it: the node has another one now
		return at, store.ErrNotFound
	}
	s, err := o.block(a, at.number)
	if err == nil && int(at.index) >= len(s.block.Transactions()) {
		err = Lacking(at.number)
	}
	return at, err
}
