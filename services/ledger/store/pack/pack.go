// Package pack writes ledgers into a file to hand to others, and reads them again, proving each before it is stored.
//
// A pack holds a range of ledgers without gaps, from its top down, because that is the way proof goes: each ledger
// says what its parent hashes to. Whoever knows the hash of the top ledger from a source of their own (an anchor)
// needs to trust neither the file nor who made it; who does not has the maker's word for that one hash, and proof of
// everything below it. Nothing in a pack names the network: the hashes do.
//
// It is not for backups of a store, which also holds evidence and progress, and not for looking up single ledgers,
// though the index at its end would allow that. Reading and writing is streaming, in memory of a few blocks. Unpack
// owns the goroutines that it starts and waits for them; nothing else here starts any.
//
// # Format
//
// Numbers are big-endian, varints are those of encoding/binary, and a CRC is CRC-32C of all bytes of its part before it.
//
//	head    "XRPLPACK" | version1 = 1 | from4 | to4 | hash32 of ledger to | CRC4
//	block   'B' | top4 | ledgers4 | raw4 | stored4 | stored bytes | CRC4
//	        ... from ledger to downwards to ledger from
//	footer  'F' | blocks4 | per block: top4, offset8 | hash32 of ledger to | CRC4
//	tail    offset8 of the footer | "XRPLPEND"
//
// The stored bytes of a block are one zstd frame of raw bytes; these hold each ledger, from top downwards: its header
// of 118 bytes, the number of its transactions (varint), and for each the sizes of blob and metadata (varints), blob,
// metadata. Transactions are in the order in which they were applied.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

const (
	Magic   = "XRPLPACK"
	ending  = "XRPLPEND"
	version = 1

	headSize  = len(Magic) + 1 + 4 + 4 + 32 + 4
	blockHead = 1 + 4*4
	entrySize = 4 + 8
	tailSize  = 8 + len(ending)

	blockMark  = 'B'
	footerMark = 'F'
)

// A block is closed when it has so many ledgers or bytes: large enough for zstd to find what repeats, small enough that
// a few of them are no memory to speak of.
const (
	blockLedgers = 64
	blockBytes   = 4 << 20

	// maxBlock bounds what a reader takes, in bytes: a block that one giant ledger closed.
	maxBlock = 128 << 20
	// maxBlocks bounds the index: 100 million ledgers, in blocks of 64.
	maxBlocks = 100_000_000/blockLedgers + 1
)

// ErrDamaged is for a pack that is not as it was written, or is none.
var ErrDamaged = errors.New("damaged pack")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Head is what a pack says of itself.
type Head struct {
	Range history.Range
	Top   xrpl.Hash // of ledger Range.To
}

func (h Head) append(b []byte) []byte {
	start := len(b)
	b = append(b, Magic...)
	b = append(b, version)
	b = binary.BigEndian.AppendUint32(b, h.Range.From)
	b = binary.BigEndian.AppendUint32(b, h.Range.To)
	b = append(b, h.Top[:]...)
	return appendCRC(b, start)
}

func parseHead(b []byte) (Head, error) {
	if len(b) < len(Magic)+1 || string(b[:len(Magic)]) != Magic {
		return Head{}, fmt.Errorf("%w: it is no pack of ledgers, or was cut off at once; packs are made by ledgersync pack", ErrDamaged)
	}
	if v := b[len(Magic)]; v != version {
		return Head{}, fmt.Errorf("the pack has version %d, this program reads version %d: use the one that wrote it, or a newer one", v, version)
	}
	if len(b) != headSize || !goodCRC(b) {
		return Head{}, fmt.Errorf("%w: its head does not have its checksum", ErrDamaged)
	}
	b = b[len(Magic)+1:]
	h := Head{Range: history.Range{From: binary.BigEndian.Uint32(b), To: binary.BigEndian.Uint32(b[4:])}, Top: xrpl.Hash(b[8:40])}
	if h.Range.Len() == 0 {
		return Head{}, fmt.Errorf("%w: it says that it holds ledgers %d to %d", ErrDamaged, h.Range.From, h.Range.To)
	}
	return h, nil
}

func appendCRC(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// goodCRC says whether the last four bytes are the checksum of those before.
func goodCRC(b []byte) bool {
	n := len(b) - 4
	return n >= 0 && binary.BigEndian.Uint32(b[n:]) == crc32.Checksum(b[:n], castagnoli)
}

func appendLedger(b []byte, l *xrpl.Ledger) []byte {
	b = append(b, l.Header...)
	b = binary.AppendUvarint(b, uint64(len(l.Transactions)))
	for i := range l.Transactions {
		t := &l.Transactions[i]
		b = binary.AppendUvarint(b, uint64(len(t.Blob)))
		b = binary.AppendUvarint(b, uint64(len(t.Meta)))
		b = append(b, t.Blob...)
		b = append(b, t.Meta...)
	}
	return b
}

// cutLedger reads a ledger and answers with what follows it. The ledger refers to b.
func cutLedger(b []byte) (*xrpl.Ledger, []byte, error) {
	if len(b) < xrpl.HeaderSize {
		return nil, nil, fmt.Errorf("%w: a ledger is cut off", ErrDamaged)
	}
	h, err := xrpl.ParseHeader(b[:xrpl.HeaderSize])
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	l := &xrpl.Ledger{Index: h.Index, Hash: h.Hash(), Header: b[:xrpl.HeaderSize:xrpl.HeaderSize]}
	b = b[xrpl.HeaderSize:]
	count, n := binary.Uvarint(b)
	if n <= 0 || count > xrpl.MaxTransactions || count > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: how many transactions ledger %d has is unreadable", ErrDamaged, h.Index)
	}
	b = b[n:]
	l.Transactions = make([]xrpl.Transaction, count)
	for i := range l.Transactions {
		var sizes [2]int
		for k := range sizes {
			size, n := binary.Uvarint(b)
			if n <= 0 || size > xrpl.MaxVL {
				return nil, nil, fmt.Errorf("%w: transaction %d of ledger %d is unreadable", ErrDamaged, i+1, h.Index)
			}
			sizes[k], b = int(size), b[n:]
		}
		blob, end := sizes[0], sizes[0]+sizes[1]
		if end > len(b) {
			return nil, nil, fmt.Errorf("%w: transaction %d of ledger %d is cut off", ErrDamaged, i+1, h.Index)
		}
		l.Transactions[i] = xrpl.Transaction{Blob: b[:blob:blob], Meta: b[blob:end:end]}
		b = b[end:]
	}
	return l, b, nil
}
