// Package pack writes ledgers to a file for other people, and reads such files. A reader that
// stores the ledgers must prove them: services/ledger/store/folder does.
//
// A pack holds a range of ledgers without gaps, from its top down, because proofs work in that
// direction: each ledger contains its parent's hash. A reader that knows the hash of the top ledger
// from a source of its own (an anchor) needs to trust neither the file nor its author; other
// readers trust the author for that one hash, and all ledgers below it are proved. A pack does not
// name its network: the hashes identify it.
//
// It is not for backups of a store, which also holds evidence and progress, and not for looking up
// single ledgers, though the index at its end would allow that. Reading and writing are streaming,
// in memory of a few blocks. It starts no goroutines.
//
// # Format
//
// Numbers are big-endian, varints are those of encoding/binary, and a CRC is CRC-32C of all bytes
// of its part before it.
//
//	head    "XRPLPACK" | version1 = 1 | from4 | to4 | hash32 of ledger to | CRC4
//	block   'B' | top4 | ledgers4 | raw4 | stored4 | stored bytes | CRC4
//	        ... from ledger to downwards to ledger from
//	footer  'F' | blocks4 | per block: top4, offset8 | hash32 of ledger to | CRC4
//	tail    offset8 of the footer | "XRPLPEND"
//
// The stored bytes of a block are one zstd frame of raw bytes; these hold each ledger, from top
// downwards: its header of 118 bytes, the number of its transactions (varint), and for each the
// sizes of blob and metadata (varints), blob, metadata. Transactions are in the order in which they
// were applied.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
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

// Limits at which a block is closed: large enough for zstd to find repetitions, small enough that a
// few of them need little memory.
const (
	blockLedgers = 64
	blockBytes   = 4 << 20

	// maxBlock bounds the size that a reader accepts, in bytes: a block closed by one giant ledger.
	maxBlock = 128 << 20
	// maxBlocks bounds the index: 100 million ledgers, in blocks of 64.
	maxBlocks = 100_000_000/blockLedgers + 1
)

// ErrDamaged marks a damaged pack, or a file that is no pack.
var ErrDamaged = errors.New("damaged pack")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Head is a pack's description of itself.
type Head struct {
	Range history.Range
	Top   xrpl.Hash // hash of ledger Range.To
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
		return Head{}, fmt.Errorf("%w: it is no pack of ledgers, or was cut off in its first bytes; packs are made by ledgersync pack", ErrDamaged)
	}
	if v := b[len(Magic)]; v != version {
		return Head{}, fmt.Errorf("the pack has version %d, this program reads version %d: use the one that wrote it, or a newer one", v, version)
	}
	if len(b) != headSize || !goodCRC(b) {
		return Head{}, fmt.Errorf("%w: its head has a wrong checksum", ErrDamaged)
	}
	b = b[len(Magic)+1:]
	h := Head{Range: history.Range{From: binary.BigEndian.Uint32(b), To: binary.BigEndian.Uint32(b[4:])}, Top: xrpl.Hash(b[8:40])}
	if h.Range.Len() == 0 {
		return Head{}, fmt.Errorf("%w: its range is ledgers %d to %d", ErrDamaged, h.Range.From, h.Range.To)
	}
	return h, nil
}

func appendCRC(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func goodCRC(b []byte) bool {
	n := len(b) - 4
	return n >= 0 && binary.BigEndian.Uint32(b[n:]) == crc32.Checksum(b[:n], castagnoli)
}

func appendLedger(b []byte, l *xrpl.Ledger) []byte {
	b = append(b, l.Header...)
	b = binary.AppendUvarint(b, uint64(len(l.Transactions)))
	return AppendTransactions(b, l.Transactions)
}

// AppendTransactions appends transactions, each as the sizes of blob and metadata (varints), blob,
// metadata.
func AppendTransactions(b []byte, txs []xrpl.Transaction) []byte {
	for i := range txs {
		t := &txs[i]
		b = binary.AppendUvarint(b, uint64(len(t.Blob)))
		b = binary.AppendUvarint(b, uint64(len(t.Meta)))
		b = append(b, t.Blob...)
		b = append(b, t.Meta...)
	}
	return b
}

// CutTransactions finds count transactions at the beginning of what AppendTransactions made, to
// which they refer, and returns the bytes after them.
func CutTransactions(txs []xrpl.Transaction, b []byte, count int) ([]xrpl.Transaction, []byte, error) {
	for i := range count {
		blob, n := binary.Uvarint(b)
		if n <= 0 {
			return txs, nil, fmt.Errorf("transaction %d of %d is missing", i+1, count)
		}
		b = b[n:]
		meta, n := binary.Uvarint(b)
		if n <= 0 || blob > uint64(len(b)) || meta > uint64(len(b)) || uint64(n)+blob+meta > uint64(len(b)) {
			return txs, nil, fmt.Errorf("transaction %d of %d is cut off", i+1, count)
		}
		b = b[n:]
		end := blob + meta
		txs = append(txs, xrpl.Transaction{Blob: b[:blob:blob], Meta: b[blob:end:end]})
		b = b[end:]
	}
	return txs, b, nil
}

// cutLedger reads a ledger and returns the bytes after it. The ledger refers to b.
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
		return nil, nil, fmt.Errorf("%w: the number of transactions of ledger %d is unreadable", ErrDamaged, h.Index)
	}
	b = b[n:]
	l.Transactions, b, err = CutTransactions(make([]xrpl.Transaction, 0, count), b, int(count))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: ledger %d: %w", ErrDamaged, h.Index, err)
	}
	return l, b, nil
}
