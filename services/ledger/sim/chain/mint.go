package chain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Generated transactions are payments whose sizes spread around those of the main network: ledger
// 90,150,378 has 90 transactions of 220 bytes with 802 bytes of metadata, and takes 187 kB as JSON.
const (
	accounts    = 256
	edwards     = 5 // one key in this many is Ed25519, the others are secp256k1
	memoBelow   = 60
	othersBelow = 8 // accounts that change besides sender and receiver; each takes 146 bytes
)

// mint makes signed transactions. Any number of goroutines may use it.
type mint struct {
	seed uint64
	keys []*signing.Key
}

func newMint(seed uint64) *mint {
	m := &mint{seed: seed}
	for i := range accounts {
		m.keys = append(m.keys, newKey(seed, "account", i, i%edwards == 0))
	}
	return m
}

func newKey(seed uint64, purpose string, i int, edwards bool) *signing.Key {
	text := fmt.Appendf(nil, "ledgersync sim %d %s %d", seed, purpose, i)
	if edwards {
		return signing.NewKeyEd25519(text)
	}
	return signing.NewKey(text)
}

// transactions makes the n-th set, for a ledger of that index, sorted by id, as servers send it.
func (m *mint) transactions(n int, index uint32, count int) ([]xrpl.Transaction, error) {
	random := rand.New(rand.NewPCG(m.seed, uint64(n)))
	txs := make([]xrpl.Transaction, count)
	for i := range txs {
		tx, err := m.payment(random, index, uint32(n*count+i+1), uint32(i))
		if err != nil {
			return nil, err
		}
		tx.ID = xrpl.TransactionID(tx.Blob)
		txs[i] = tx
	}
	slices.SortFunc(txs, func(a, b xrpl.Transaction) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return txs, nil
}

// payment makes a payment and its metadata. The sequence is unique, and so is the transaction's id.
func (m *mint) payment(random *rand.Rand, index, sequence, position uint32) (xrpl.Transaction, error) {
	others := 2 + random.IntN(othersBelow)
	from := random.IntN(accounts)
	key := m.keys[from]
	p := signing.Payment{
		Destination: m.keys[(from+1)%accounts].Account(),
		Drops:       1 + random.Uint64N(1e9),
		Fee:         FeeDrops,
		Sequence:    sequence,
		LastLedger:  index + 20,
		SourceTag:   random.Uint32(),
		Memo:        noise(random, random.IntN(memoBelow)),
	}
	blob, err := p.Sign(key)
	if err != nil {
		return xrpl.Transaction{}, fmt.Errorf("signing a payment: %w", err)
	}
	meta := xrpl.Meta{Index: position}
	for i := range others {
		change := xrpl.AccountChange{
			Account:    m.keys[(from+i)%accounts].Account(),
			Sequence:   sequence,
			Before:     sequence,
			Previous:   2e9 + random.Uint64N(1e12),
			Owned:      random.Uint32N(50),
			LastTxn:    xrpl.Hash(noise(random, 32)),
			LastLedger: index - 1 - random.Uint32N(1000),
		}
		change.Balance = change.Previous
		switch i {
		case 0:
			change.Sequence++
			change.Balance -= p.Drops + p.Fee
		case 1:
			change.Balance += p.Drops
		}
		meta.Accounts = append(meta.Accounts, change)
	}
	return xrpl.Transaction{Blob: blob, Meta: meta.Append(nil)}, nil
}

func noise(random *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

func signatureOf(blob []byte) (at, size int, err error) {
	err = xrpl.Walk(blob, func(f xrpl.Field) error {
		if f.Depth == 0 && f.Is(sfield.TxnSignature) {
			at, size = f.ValueStart, f.End-f.ValueStart
			return xrpl.ErrStop
		}
		return nil
	})
	if err == nil && size < minSignature {
		err = errors.New("a transaction has no signature of its own")
	}
	return at, size, err
}
