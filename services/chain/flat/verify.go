package flat

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// Verify implements state.States. On disk every node must have the hash by which its parent knows
// it, every leaf must be a record and every record a leaf, and every contract must have its code.
// The changes since then must give the root.
func (s *States) Verify(ctx context.Context, header *types.Header, root common.Hash) error {
	m, err := s.marked(header)
	if err != nil {
		return err
	}
	if err := s.verifyDisk(ctx); err != nil {
		return fmt.Errorf("that after block %d, below it: %w", s.base.Number, err)
	}
	t, err := s.triesAt(m.Number)
	if err != nil {
		return err
	}
	for address, account := range t.dirty.accounts {
		if err := s.verifyCode(account); err != nil {
			return fmt.Errorf("account %x: %w", address, err)
		}
	}
	got, rooted, err := t.hash()
	if err == nil && got != root {
		err = fmt.Errorf("it has the root %x, and should have %x", got, root)
	}
	if err == nil && m.Root != (common.Hash{}) && len(rooted) > 0 {
		err = errors.New("the storage roots of some accounts are not those of their slots")
	}
	return err
}

func (s *States) verifyCode(account *types.StateAccount) error {
	if account == nil || bytes.Equal(account.CodeHash, noCode) {
		return nil
	}
	if hash := common.BytesToHash(account.CodeHash); crypto.Keccak256Hash(s.disk.code(hash)) != hash {
		return fmt.Errorf("its code %x is missing or another", hash)
	}
	return nil
}

func (s *States) verifyDisk(ctx context.Context) error {
	n := nodes{s, s.base.Number}
	opened, err := n.open(common.Hash{}, s.base.Root)
	if err != nil {
		return err
	}
	return s.match(ctx, opened, []byte(accounts), common.AddressLength, func(key, _ []byte) ([]byte, error) {
		address := common.BytesToAddress(key)
		account, err := s.disk.account(address)
		if err = errors.Join(err, s.verifyCode(account)); err != nil {
			return nil, err
		}
		slots, err := n.open(hashOf(address), account.Root)
		if err == nil {
			err = s.match(ctx, slots, slotKeys(address), common.HashLength, func(_, value []byte) ([]byte, error) { return rlp.EncodeToBytes(value) })
		}
		leaf, err1 := rlp.EncodeToBytes(account)
		return leaf, errors.Join(err, err1)
	})
}

// match holds the records with a prefix, before a key of length bytes, against the leaves of a
// trie. Leaf returns what a record's must be.
func (s *States) match(ctx context.Context, t *trie.Trie, prefix []byte, length int, leaf func(key, value []byte) ([]byte, error)) error {
	leaves, err := count(ctx, t)
	if err != nil {
		return err
	}
	err = s.disk.each(ctx, prefix, len(prefix)+length, func(key, value []byte) error {
		leaves--
		key = key[len(prefix):]
		want, err1 := leaf(key, value)
		got, err2 := t.Get(crypto.Keccak256(key))
		err := errors.Join(err1, err2)
		if err == nil && !bytes.Equal(want, got) {
			err = errors.New("its leaf is another")
		}
		if err != nil {
			err = fmt.Errorf("record %x: %w", key, err)
		}
		return err
	})
	if err == nil && leaves != 0 {
		err = fmt.Errorf("a trie has %d leaves more than there are records", leaves)
	}
	return err
}

// count reads all nodes of a trie, and counts its leaves.
func count(ctx context.Context, t *trie.Trie) (leaves int, err error) {
	all, err := t.NodeIterator(nil)
	if err != nil {
		return 0, err
	}
	for all.Next(true) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if all.Leaf() {
			leaves++
		}
	}
	return leaves, all.Error()
}

// each calls visit for each record with a prefix whose key has a length. Key and value are valid
// during the call.
func (d *disk) each(ctx context.Context, prefix []byte, length int, visit func(key, value []byte) error) error {
	records, err := d.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return err
	}
	for ok := records.First(); ok && err == nil; ok = records.Next() {
		if len(records.Key()) == length {
			err = errors.Join(ctx.Err(), visit(records.Key(), records.Value()))
		}
	}
	return errors.Join(err, records.Error(), records.Close())
}
