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
	accounts, err := n.open(common.Hash{}, s.base.Root)
	if err != nil {
		return err
	}
	leaves, err := count(ctx, accounts)
	if err != nil {
		return err
	}
	l := s.disk.layout
	err = s.disk.each(ctx, []byte(l.prefix), len(l.prefix)+common.AddressLength, func(key, _ []byte) error {
		leaves--
		address := common.BytesToAddress(key[len(l.prefix):])
		account, err := s.disk.account(address)
		if err != nil {
			return err
		}
		if err = s.verifyAccount(ctx, n, accounts, address, account); err != nil {
			err = fmt.Errorf("account %x: %w", address, err)
		}
		return err
	})
	if err == nil && leaves != 0 {
		err = fmt.Errorf("the trie has %d accounts more than there are records", leaves)
	}
	return err
}

func (s *States) verifyAccount(ctx context.Context, n nodes, accounts *trie.Trie, address common.Address, account *types.StateAccount) error {
	owner := hashOf(address)
	want, err1 := accounts.Get(owner[:])
	got, err2 := rlp.EncodeToBytes(account)
	if err := errors.Join(err1, err2, s.verifyCode(account)); err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		return errors.New("its record is another than its leaf")
	}
	slots, err := n.open(owner, account.Root)
	if err != nil {
		return err
	}
	leaves, err := count(ctx, slots)
	if err != nil {
		return err
	}
	prefix := s.disk.layout.slots(address)
	err = s.disk.each(ctx, prefix, len(prefix)+common.HashLength, func(key, value []byte) error {
		leaves--
		want, err1 := slots.Get(crypto.Keccak256(key[len(prefix):]))
		got, err2 := rlp.EncodeToBytes(value)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("the record of slot %x is another than its leaf", key[len(prefix):])
		}
		return nil
	})
	if err == nil && leaves != 0 {
		err = fmt.Errorf("the trie has %d slots more than there are records", leaves)
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
