package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/store"
)

// Bounds of the memory.
const (
	cacheBytes = 64 << 20 // of Pebble
	codeBytes  = 32 << 20
)

// Keys beside those of accounts and slots.
const (
	nodeRecords    = "node_"    // + hash of the address, for a trie of slots, + path: the node
	codeRecords    = "code_"    // + hash: code of a contract
	changesRecords = "changes_" // + number of 8 bytes, big-endian: what the block changed, since the last clean stop
	baseRecord     = "base"     // the mark of the block whose state is in the records
)

func nodeKey(owner common.Hash, path []byte) []byte {
	key := make([]byte, 0, len(nodeRecords)+len(owner)+len(path)+1)
	key = append(key, nodeRecords...)
	if owner != (common.Hash{}) {
		key = append(append(key, 's'), owner[:]...)
	}
	return append(key, path...) // of bytes up to 15, and so not mistaken for one with an owner
}

func numbered(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte(changesRecords), n) }

// disk are the records.
type disk struct {
	db    *pebble.DB
	dir   string
	codes *lru.SizeConstrainedCache[common.Hash, []byte]
	user  atomic.Int64 // bytes of the records of accounts and slots that were written
}

func openDisk(dir string, o Options) (*disk, error) {
	db, err := store.OpenPebble(dir, o.ReadOnly, cacheBytes)
	if err != nil {
		return nil, err
	}
	return &disk{db: db, dir: dir, codes: lru.NewSizeConstrainedCache[common.Hash, []byte](codeBytes)}, nil
}

// get returns a copy of a record; nil if there is none.
func (d *disk) get(key []byte) ([]byte, error) {
	value, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", store.FileOf(err, d.dir), err)
	}
	value = append(make([]byte, 0, len(value)), value...)
	return value, closer.Close()
}

func (d *disk) account(address common.Address) (*types.StateAccount, error) {
	text, err := d.get(accountKey(address))
	if err != nil {
		return nil, err
	}
	return decodeAccount(text)
}

func (d *disk) slot(address common.Address, key common.Hash) (common.Hash, error) {
	value, err := d.get(append(slotKeys(address), key[:]...))
	return common.BytesToHash(value), err
}

// code returns a contract's code; nil also if it cannot be read, which StateDB then reports.
func (d *disk) code(hash common.Hash) []byte {
	if code, ok := d.codes.Get(hash); ok {
		return code
	}
	code, err := d.get(append([]byte(codeRecords), hash[:]...))
	if err != nil || code == nil {
		return nil
	}
	d.codes.Add(hash, code)
	return code
}

// putCodes stores codes.
func (d *disk) putCodes(codes map[common.Hash][]byte) error {
	if len(codes) == 0 {
		return nil
	}
	return d.commit(pebble.NoSync, func(b *pebble.Batch) error {
		for hash, code := range codes {
			d.codes.Add(hash, code)
			b.Set(append([]byte(codeRecords), hash[:]...), code, nil)
		}
		return nil
	})
}

// write writes changes up to a boundary, and its nodes, as one.
func (d *disk) write(c *changes, at *boundary) error {
	return d.commit(pebble.NoSync, func(b *pebble.Batch) error {
		for address := range c.wiped {
			owner := nodeKey(hashOf(address), nil)
			b.DeleteRange(slotKeys(address), after(slotKeys(address)), nil)
			b.DeleteRange(owner, after(owner), nil)
		}
		for address, account := range c.accounts {
			put(b, accountKey(address), encodeAccount(account))
		}
		for address, slots := range c.slots {
			prefix := slotKeys(address)
			for key, value := range slots {
				put(b, append(prefix[:len(prefix):len(prefix)], key[:]...), common.TrimLeftZeroes(value[:]))
			}
		}
		d.user.Add(int64(b.Len()))
		for key, blob := range at.nodes {
			put(b, []byte(key), blob)
		}
		b.DeleteRange(numbered(0), numbered(c.Number+1), nil)
		text, err := rlp.EncodeToBytes(&at.mark)
		b.Set([]byte(baseRecord), text, nil)
		return err
	})
}

// Written returns how many bytes of accounts and slots were written since the states were opened,
// and how many Pebble wrote to disk in all, with its log, compactions, and the nodes of the tries.
func (s *States) Written() (user, engine int64) {
	return s.disk.user.Load(), store.Written(s.disk.db)
}

// put sets a record, or removes it if the value is empty.
func put(b *pebble.Batch, key, value []byte) {
	if len(value) == 0 {
		b.Delete(key, nil)
	} else {
		b.Set(key, value, nil)
	}
}

// after is the first key after all those with a prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// commit writes a batch. Pebble panics when it cannot write.
func (d *disk) commit(o *pebble.WriteOptions, fill func(*pebble.Batch) error) (err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("%v", said)
		}
	}()
	b := d.db.NewBatch()
	defer b.Close()
	if err := fill(b); err != nil {
		return err
	}
	return b.Commit(o)
}

// record is a change on disk.
type record struct {
	Address common.Address
	Key     []byte // of a slot; empty: of the account
	Value   []byte // empty: gone
}

// journalled are the changes of a block on disk.
type journalled struct {
	Mark    mark
	Wiped   []common.Address
	Records []record
}

// journal stores the changes of the blocks after base.
func (d *disk) journal(blocks []*changes) error {
	return d.commit(pebble.Sync, func(b *pebble.Batch) error {
		b.DeleteRange(numbered(0), after([]byte(changesRecords)), nil)
		for _, c := range blocks {
			j := journalled{Mark: c.mark, Wiped: slices.Collect(maps.Keys(c.wiped))}
			for address, account := range c.accounts {
				j.Records = append(j.Records, record{Address: address, Value: encodeAccount(account)})
			}
			for address, slots := range c.slots {
				for key, value := range slots {
					j.Records = append(j.Records, record{address, key[:], common.TrimLeftZeroes(value[:])})
				}
			}
			text, err := rlp.EncodeToBytes(&j)
			if err != nil {
				return err
			}
			b.Set(numbered(c.Number), text, nil)
		}
		return nil
	})
}

// load returns the block whose state is in the records, and the changes after it.
func (d *disk) load() (base mark, blocks []*changes, begun bool, err error) {
	text, err := d.get([]byte(baseRecord))
	if err != nil || text == nil {
		return base, nil, false, err
	}
	if err := rlp.DecodeBytes(text, &base); err != nil {
		return base, nil, false, fmt.Errorf("%s: the mark of the state is damaged: %w", d.dir, err)
	}
	for n := base.Number + 1; ; n++ {
		text, err := d.get(numbered(n))
		if err != nil || text == nil {
			return base, blocks, true, err
		}
		c, err := decodeChanges(text)
		if err == nil && c.Number != n {
			err = fmt.Errorf("they are those of block %d", c.Number)
		}
		if err != nil {
			return base, nil, true, fmt.Errorf("%s: the changes of block %d are damaged: %w", d.dir, n, err)
		}
		blocks = append(blocks, c)
	}
}

func decodeChanges(text []byte) (*changes, error) {
	var j journalled
	if err := rlp.DecodeBytes(text, &j); err != nil {
		return nil, err
	}
	c := newChanges(j.Mark)
	for _, address := range j.Wiped {
		c.wiped[address] = true
	}
	for _, r := range j.Records {
		if len(r.Key) > 0 {
			c.slotsOf(r.Address, 0)[common.BytesToHash(r.Key)] = common.BytesToHash(r.Value)
			continue
		}
		account, err := decodeAccount(r.Value)
		if err != nil {
			return nil, err
		}
		c.accounts[r.Address] = account
	}
	return c, nil
}
