package xrpltest

import (
	"encoding/binary"
	"math/rand/v2"

	"dyno/services/ledger/xrpl"
)

const accounts = 200

// Chain makes n ledgers from index first on, each with the given number of transactions. The same
// seed gives the same ledgers.
func Chain(seed uint64, first uint32, n, transactions int) []*xrpl.Ledger {
	v := xrpl.NewVerifier()
	chain := make([]*xrpl.Ledger, n)
	parent := xrpl.Hash{0: byte(first), 31: byte(seed)}
	for i := range chain {
		index := first + uint32(i)
		rng := rand.New(rand.NewPCG(seed, uint64(index)))
		l := &xrpl.Ledger{Index: index}
		for position := range transactions {
			l.Transactions = append(l.Transactions, transaction(rng, uint32(position)))
		}
		root, err := v.Root(l.Transactions)
		if err != nil {
			panic(err) // two random signatures were equal
		}
		h := xrpl.Header{Index: index, Drops: 99_985_687_626_634_189, Parent: parent, Transactions: root, Close: 700_000_000 + 4*index,
			ParentClose: 700_000_000 + 4*(index-1), Resolution: 10}
		fill(rng, h.State[:])
		l.Header = h.Append(nil)
		l.Hash = h.Hash()
		parent = l.Hash
		chain[i] = l
	}
	return chain
}

// transaction is a payment of a modern one's size: about 240 bytes, with 790 bytes of metadata.
func transaction(rng *rand.Rand, position uint32) xrpl.Transaction {
	from, to := Account(rng.IntN(accounts)), Account(rng.IntN(accounts))
	b := []byte{0x12, 0x00, 0x00, 0x22, 0x80, 0, 0, 0, 0x24} // Payment, Flags, Sequence
	b = binary.BigEndian.AppendUint32(b, rng.Uint32())
	b = append(b, 0x61, 0x40, 0, 0, 0, 0, 0, byte(rng.IntN(200)), 10, 0x68, 0x40, 0, 0, 0, 0, 0, 0, 12, 0x73, 33, 2) // Amount, Fee, SigningPubKey
	b = random(rng, b, 32)
	b = append(b, 0x74, 70) // TxnSignature
	b = random(rng, b, 70)
	b = append(append(b, 0x81, 20), from[:]...)
	b = append(append(b, 0x83, 20), to[:]...)

	m := binary.BigEndian.AppendUint32([]byte{0x20, 0x1c}, position)
	m = append(m, 0xf8)
	for _, account := range [][20]byte{from, to, from, to} {
		m = append(m, 0xe5, 0x11, 0x00, 0x61, 0x25, 0x05, 0x5d, 0x4a, byte(rng.IntN(255)), 0x55) // ModifiedNode, AccountRoot, PreviousTxnLgrSeq, PreviousTxnID
		m = random(rng, m, 32)
		m = append(m, 0x56) // LedgerIndex
		m = append(append(m, account[:]...), account[:12]...)
		m = append(m, 0xe6, 0x24) // PreviousFields
		m = random(rng, m, 4)
		m = append(m, 0x62, 0x40)
		m = random(rng, m, 7)
		m = append(m, 0xe1, 0xe7, 0x22, 0, 0, 0, 0, 0x24) // FinalFields
		m = random(rng, m, 4)
		m = append(m, 0x2d, 0, 0, 0, 3, 0x62, 0x40)
		m = random(rng, m, 7)
		m = append(append(m, 0x81, 20), account[:]...)
		m = append(m, 0xe1, 0xe1)
	}
	return xrpl.Transaction{Blob: b, Meta: append(m, 0xf1, 0x03, 0x10, 0x00)}
}

// Account is one of the accounts of the generated transactions: 0 to 199.
func Account(i int) (a [20]byte) {
	fill(rand.New(rand.NewPCG(0, uint64(i))), a[:])
	return a
}

func fill(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

func random(rng *rand.Rand, b []byte, n int) []byte {
	for range n {
		b = append(b, byte(rng.Uint32()))
	}
	return b
}
