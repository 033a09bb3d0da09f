package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"dyno/parts/xrpl"
)

// A ledger's value is
//
//	encoding1 | hash32 | header118 | transactions (varint) | bytes that follow, when decompressed (varint) | body
//
// and the body, which may be compressed, for each transaction: size of blob, size of metadata (varints),
// blob, metadata. What is asked for most, hash and header, is never compressed.
const (
	encodingRaw  = 0
	encodingZstd = 1
	encodingS2   = 2

	headerAt = 1 + len(xrpl.Hash{})
	bodyAt   = headerAt + xrpl.HeaderSize

	// maxLedger bounds a body that is damaged, in bytes. The largest real ones have some megabytes.
	maxLedger = 64 << 20
)

var errDamaged = errors.New("damaged")

// record is what the value of a ledger says of itself before its transactions are read.
type record struct {
	hash         xrpl.Hash
	header       []byte
	transactions int
	encoding     byte
	size         int    // of the body, decompressed
	body         []byte // as it is stored
}

// encodings are the settings of compression. Of the bytes of real ledgers of 20 KB and more, s2 leaves 38% and zstd, at
// its fastest level, 34%, for several times the CPU time. See BenchmarkCodec.
var encodings = map[string]byte{"none": encodingRaw, "zstd": encodingZstd, "s2": encodingS2}

func (s *Store) openCodec(compression string) error {
	if compression == "" {
		compression = "s2"
	}
	var ok bool
	if s.encoding, ok = encodings[compression]; !ok {
		return fmt.Errorf("compression=%s: want none, s2 or zstd", compression)
	}
	var err error
	if s.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxLedger)); err != nil {
		return err
	}
	s.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	return err
}

func (s *Store) closeCodec() {
	s.decoder.Close()
	s.encoder.Close()
}

// bodySize is the size of a ledger's body in bytes.
func bodySize(l *xrpl.Ledger) (n int) {
	var scratch [binary.MaxVarintLen64]byte
	for i := range l.Transactions {
		t := &l.Transactions[i]
		n += binary.PutUvarint(scratch[:], uint64(len(t.Blob))) + binary.PutUvarint(scratch[:], uint64(len(t.Meta))) + len(t.Blob) + len(t.Meta)
	}
	return n
}

func appendBody(b []byte, l *xrpl.Ledger) []byte {
	for i := range l.Transactions {
		t := &l.Transactions[i]
		b = binary.AppendUvarint(b, uint64(len(t.Blob)))
		b = binary.AppendUvarint(b, uint64(len(t.Meta)))
		b = append(b, t.Blob...)
		b = append(b, t.Meta...)
	}
	return b
}

func appendHead(b []byte, encoding byte, hash xrpl.Hash, l *xrpl.Ledger, size int) []byte {
	b = append(b, encoding)
	b = append(b, hash[:]...)
	b = append(b, l.Header...)
	b = binary.AppendUvarint(b, uint64(len(l.Transactions)))
	return binary.AppendUvarint(b, uint64(size))
}

// maxHead is the most bytes that stand before a body.
const maxHead = bodyAt + 2*binary.MaxVarintLen64

// scratch is memory to work in, from one batch to the next.
type scratch struct {
	body, value []byte
	places      []placed // of the whole batch's transactions
	touches     []touch
	distances   []byte
}

// setLedger puts a ledger into a batch.
func (s *Store) setLedger(b *pebble.Batch, index uint32, hash xrpl.Hash, l *xrpl.Ledger, mem *scratch) error {
	size := bodySize(l)
	key := ledgerKey(index)
	if s.encoding == encodingRaw { // straight to where the batch has it
		var head [maxHead]byte
		h := appendHead(head[:0], encodingRaw, hash, l, size)
		op := b.SetDeferred(len(key), len(h)+size)
		copy(op.Key, key)
		appendBody(append(op.Value[:0], h...), l)
		return op.Finish()
	}
	mem.body = appendBody(mem.body[:0], l)
	mem.value = s.compress(appendHead(mem.value[:0], s.encoding, hash, l, size), mem.body)
	return b.Set(key, mem.value, nil)
}

// compress appends a body, compressed.
func (s *Store) compress(value, body []byte) []byte {
	if s.encoding == encodingZstd {
		return s.encoder.EncodeAll(body, value)
	}
	value = slices.Grow(value, s2.MaxEncodedLen(len(body)))
	return value[:len(value)+len(s2.Encode(value[len(value):cap(value)], body))]
}

// decompress returns a record's body, as it was, with room for its header.
func (s *Store) decompress(r record) (body []byte, err error) {
	room := r.size + xrpl.HeaderSize
	switch r.encoding {
	case encodingRaw:
		return append(make([]byte, 0, room), r.body...), nil
	case encodingS2:
		if size, err := s2.DecodedLen(r.body); err != nil || size != r.size {
			return nil, fmt.Errorf("%w: it has %d bytes of %d (%v)", errDamaged, size, r.size, err)
		}
		body, err = s2.Decode(make([]byte, r.size, room), r.body)
	default:
		const usual = 16 // a size that claims to be more times the compressed one may be damaged, and then memory would be wasted
		body, err = s.decoder.DecodeAll(r.body, make([]byte, 0, min(room, usual*len(r.body)+xrpl.HeaderSize)))
	}
	if err == nil && len(body) != r.size {
		err = fmt.Errorf("it has %d bytes of %d", len(body), r.size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return body, nil
}

// parseRecord reads all but the transactions. It keeps referring to value.
func parseRecord(value []byte) (r record, err error) {
	if len(value) < bodyAt+2 || value[0] > encodingS2 {
		return r, fmt.Errorf("%w: its %d bytes begin wrongly", errDamaged, len(value))
	}
	r.encoding = value[0]
	r.hash = xrpl.Hash(value[1:headerAt])
	r.header = value[headerAt:bodyAt]
	rest := value[bodyAt:]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > xrpl.MaxTransactions {
		return r, fmt.Errorf("%w: how many transactions it has is unreadable", errDamaged)
	}
	rest = rest[n:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > maxLedger {
		return r, fmt.Errorf("%w: its size is unreadable", errDamaged)
	}
	r.transactions, r.size, r.body = int(count), int(size), rest[n:]
	if r.encoding == encodingRaw && r.size != len(r.body) {
		return r, fmt.Errorf("%w: it has %d bytes of %d", errDamaged, len(r.body), r.size)
	}
	return r, nil
}

// into copies a record into a ledger. The bytes are new, so that the ledger may be handed on.
func (s *Store) into(index uint32, r record, l *xrpl.Ledger) error {
	memory, err := s.decompress(r)
	if err != nil {
		return err
	}
	memory = append(memory, r.header...)
	l.Index, l.Hash = index, r.hash
	l.Header = memory[r.size:]
	l.Transactions, err = cutBody(l.Transactions[:0], memory[:r.size:r.size], r.transactions)
	return err
}

// cutBody finds the transactions in a body, which they keep referring to.
func cutBody(txs []xrpl.Transaction, body []byte, count int) ([]xrpl.Transaction, error) {
	for i := range count {
		blob, n := binary.Uvarint(body)
		if n <= 0 {
			return txs, fmt.Errorf("%w: transaction %d of %d is missing", errDamaged, i+1, count)
		}
		body = body[n:]
		meta, n := binary.Uvarint(body)
		if n <= 0 || blob > uint64(len(body)) || meta > uint64(len(body)) || uint64(n)+blob+meta > uint64(len(body)) {
			return txs, fmt.Errorf("%w: transaction %d of %d is cut off", errDamaged, i+1, count)
		}
		body = body[n:]
		end := blob + meta
		txs = append(txs, xrpl.Transaction{Blob: body[:blob:blob], Meta: body[blob:end:end]})
		body = body[end:]
	}
	if len(body) > 0 {
		return txs, fmt.Errorf("%w: %d bytes follow its transactions", errDamaged, len(body))
	}
	return txs, nil
}

// same says whether two ledgers are the same bytes.
func same(a, b *xrpl.Ledger) bool {
	if a.Index != b.Index || !bytes.Equal(a.Header, b.Header) || len(a.Transactions) != len(b.Transactions) {
		return false
	}
	for i := range a.Transactions {
		if !bytes.Equal(a.Transactions[i].Blob, b.Transactions[i].Blob) || !bytes.Equal(a.Transactions[i].Meta, b.Transactions[i].Meta) {
			return false
		}
	}
	return true
}
