package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// A ledger is stored as
//
//	encoding1 | hash32 | header118 | transactions (varint) | size of body, raw (varint) | body
//
// and the body, which may be compressed, for each transaction: size of blob, size of metadata
// (varints), blob, metadata. Hash and header are never compressed.
const (
	encodingRaw  = 0
	encodingZstd = 1
	encodingS2   = 2

	headerAt = 1 + len(xrpl.Hash{})
	bodyAt   = headerAt + xrpl.HeaderSize

	maxLedger = 64 << 20 // limit for damaged bodies, in bytes; the largest real ones have a few MB
)

type record struct {
	hash         xrpl.Hash
	header       []byte
	transactions int
	encoding     byte
	size         int    // of the body, decompressed
	body         []byte // as it is stored
}

func (r record) index() uint32 { return binary.BigEndian.Uint32(r.header) }

// encodings are the settings of compression. Real ledgers of 20 KB and more shrink to 38% with s2,
// and to 34% with zstd at its fastest level, for several times the CPU time. See BenchmarkCodec.
var encodings = map[string]byte{"none": encodingRaw, "zstd": encodingZstd, "s2": encodingS2}

func (s *Store) openCodec(compression string) error {
	if compression == "" {
		compression = "none"
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

type scratch struct {
	body      []byte // as stored
	frame     []byte
	places    []placed // of the whole batch's transactions
	touches   []touch
	distances []byte
}

// appendLedger appends a ledger's stored form.
func (s *Store) appendLedger(b []byte, hash xrpl.Hash, l *xrpl.Ledger, mem *scratch) []byte {
	size := bodySize(l)
	b = appendHead(slices.Grow(b, maxHead+size), s.encoding, hash, l, size)
	if s.encoding == encodingRaw {
		return appendBody(b, l)
	}
	mem.body = appendBody(mem.body[:0], l)
	return s.compress(b, mem.body)
}

func (s *Store) compress(value, body []byte) []byte {
	if s.encoding == encodingZstd {
		return s.encoder.EncodeAll(body, value)
	}
	value = slices.Grow(value, s2.MaxEncodedLen(len(body)))
	return value[:len(value)+len(s2.Encode(value[len(value):cap(value)], body))]
}

// decompress returns a record's decompressed body: its own memory if it is not compressed.
func (s *Store) decompress(r record) (body []byte, err error) {
	switch r.encoding {
	case encodingRaw:
		return r.body, nil
	case encodingS2:
		if size, err := s2.DecodedLen(r.body); err != nil || size != r.size {
			return nil, fmt.Errorf("%w: it has %d bytes of %d (%v)", flat.ErrDamaged, size, r.size, err)
		}
		body, err = s2.Decode(make([]byte, r.size), r.body)
	default:
		// A larger ratio of sizes may be damage, and would waste memory.
		const usual = 16
		body, err = s.decoder.DecodeAll(r.body, make([]byte, 0, min(r.size, usual*len(r.body))))
	}
	if err == nil && len(body) != r.size {
		err = fmt.Errorf("it has %d bytes of %d", len(body), r.size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", flat.ErrDamaged, err)
	}
	return body, nil
}

// parseRecord parses all but the transactions. The record refers to value.
func parseRecord(value []byte) (r record, err error) {
	if len(value) < bodyAt+2 || value[0] > encodingS2 {
		return r, fmt.Errorf("%w: its %d bytes begin wrongly", flat.ErrDamaged, len(value))
	}
	r.encoding = value[0]
	r.hash = xrpl.Hash(value[1:headerAt])
	r.header = value[headerAt:bodyAt]
	rest := value[bodyAt:]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > xrpl.MaxTransactions {
		return r, fmt.Errorf("%w: its number of transactions is unreadable", flat.ErrDamaged)
	}
	rest = rest[n:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > maxLedger {
		return r, fmt.Errorf("%w: its size is unreadable", flat.ErrDamaged)
	}
	r.transactions, r.size, r.body = int(count), int(size), rest[n:]
	if r.encoding == encodingRaw && r.size != len(r.body) {
		return r, fmt.Errorf("%w: it has %d bytes of %d", flat.ErrDamaged, len(r.body), r.size)
	}
	return r, nil
}

// into makes a ledger from a record, whose memory it refers to.
func (s *Store) into(r record, l *xrpl.Ledger) error {
	body, err := s.decompress(r)
	if err != nil {
		return err
	}
	l.Index, l.Hash, l.Header = r.index(), r.hash, r.header
	l.Transactions, err = cutBody(l.Transactions[:0], body, r.transactions)
	return err
}

// cutBody finds the transactions in a body, which they refer to.
func cutBody(txs []xrpl.Transaction, body []byte, count int) ([]xrpl.Transaction, error) {
	for i := range count {
		blob, n := binary.Uvarint(body)
		if n <= 0 {
			return txs, fmt.Errorf("%w: transaction %d of %d is missing", flat.ErrDamaged, i+1, count)
		}
		body = body[n:]
		meta, n := binary.Uvarint(body)
		if n <= 0 || blob > uint64(len(body)) || meta > uint64(len(body)) || uint64(n)+blob+meta > uint64(len(body)) {
			return txs, fmt.Errorf("%w: transaction %d of %d is cut off", flat.ErrDamaged, i+1, count)
		}
		body = body[n:]
		end := blob + meta
		txs = append(txs, xrpl.Transaction{Blob: body[:blob:blob], Meta: body[blob:end:end]})
		body = body[end:]
	}
	if len(body) > 0 {
		return txs, fmt.Errorf("%w: %d bytes follow its transactions", flat.ErrDamaged, len(body))
	}
	return txs, nil
}

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
