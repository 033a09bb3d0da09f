package record

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/pack"
)

// A ledger is stored as
//
//	encoding1 | hash32 | header118 | transactions (varint) | size of body, raw (varint) | body
//
// and the body, which may be compressed, has the transactions as in a pack
// (services/ledger/xrpl/pack). Hash and header are never compressed.
const (
	encodingRaw  = 0
	encodingZstd = 1 // of older ledgers: none is written with it any more
	encodingS2   = 2

	headerAt = 1 + len(xrpl.Hash{})
	bodyAt   = headerAt + xrpl.HeaderSize

	maxLedger = 64 << 20 // limit for damaged bodies, in bytes; the largest real ones have a few MB
)

// Ledger is a stored ledger whose transactions have not been decompressed.
type Ledger struct {
	Hash         xrpl.Hash
	Header       []byte
	Transactions int // their number
	encoding     byte
	size         int    // of the body, decompressed
	body         []byte // as it is stored
}

// Index is the ledger's index.
func (r Ledger) Index() uint32 { return binary.BigEndian.Uint32(r.Header) }

// encodings are the settings of compression. Real ledgers of 20 KB and more shrink to 38% with s2:
// see BenchmarkCodec.
var encodings = map[string]byte{"none": encodingRaw, "s2": encodingS2}

// Codec writes ledgers in one compression, and reads those of all. It compresses with zstd what is
// not a ledger. Its methods may be called from many goroutines.
type Codec struct {
	encoding byte
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
}

// NewCodec makes a codec for a compression: none or s2; "" is none.
func NewCodec(compression string) (*Codec, error) {
	if compression == "" {
		compression = "none"
	}
	encoding, ok := encodings[compression]
	if !ok {
		return nil, fmt.Errorf("compression=%s: want none or s2", compression)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxLedger))
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	return &Codec{encoding, encoder, decoder}, err
}

// Close frees the codec's memory.
func (c *Codec) Close() {
	c.decoder.Close()
	c.encoder.Close()
}

// Zstd compresses bytes, whatever the codec's compression.
func (c *Codec) Zstd(b []byte) []byte { return c.encoder.EncodeAll(b, nil) }

// Unzstd decompresses what Zstd made.
func (c *Codec) Unzstd(b []byte) ([]byte, error) { return c.decoder.DecodeAll(b, nil) }

func bodySize(txs []xrpl.Transaction) (n int) {
	var scratch [binary.MaxVarintLen64]byte
	for i := range txs {
		t := &txs[i]
		n += binary.PutUvarint(scratch[:], uint64(len(t.Blob))) + binary.PutUvarint(scratch[:], uint64(len(t.Meta))) + len(t.Blob) + len(t.Meta)
	}
	return n
}

// maxHead is the most bytes that stand before a body.
const maxHead = bodyAt + 2*binary.MaxVarintLen64

// Size is the most bytes that a stored ledger takes, without its server's name.
func Size(l *xrpl.Ledger) int { return maxHead + bodySize(l.Transactions) }

// appendLedger appends a ledger's stored form. mem is the caller's memory for its body.
func (c *Codec) appendLedger(b []byte, hash xrpl.Hash, l *xrpl.Ledger, mem *[]byte) []byte {
	size := bodySize(l.Transactions)
	b = append(slices.Grow(b, maxHead+size), c.encoding)
	b = append(append(b, hash[:]...), l.Header...)
	b = binary.AppendUvarint(b, uint64(len(l.Transactions)))
	b = binary.AppendUvarint(b, uint64(size))
	if c.encoding == encodingRaw {
		return pack.AppendTransactions(b, l.Transactions)
	}
	*mem = pack.AppendTransactions((*mem)[:0], l.Transactions)
	return compress(b, *mem)
}

func compress(value, body []byte) []byte {
	value = slices.Grow(value, s2.MaxEncodedLen(len(body)))
	return value[:len(value)+len(s2.Encode(value[len(value):cap(value)], body))]
}

// decompress returns a ledger's decompressed body: its own memory if it is not compressed.
func (c *Codec) decompress(r Ledger) (body []byte, err error) {
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
		body, err = c.decoder.DecodeAll(r.body, make([]byte, 0, min(r.size, usual*len(r.body))))
	}
	if err == nil && len(body) != r.size {
		err = fmt.Errorf("it has %d bytes of %d", len(body), r.size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", flat.ErrDamaged, err)
	}
	return body, nil
}

// ParseStored parses the stored form of a ledger, all but the transactions. The ledger refers to
// value.
func ParseStored(value []byte) (r Ledger, err error) {
	if len(value) < bodyAt+2 || value[0] > encodingS2 {
		return r, fmt.Errorf("%w: its %d bytes begin wrongly", flat.ErrDamaged, len(value))
	}
	r.encoding = value[0]
	r.Hash = xrpl.Hash(value[1:headerAt])
	r.Header = value[headerAt:bodyAt]
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
	r.Transactions, r.size, r.body = int(count), int(size), rest[n:]
	if r.encoding == encodingRaw && r.size != len(r.body) {
		return r, fmt.Errorf("%w: it has %d bytes of %d", flat.ErrDamaged, len(r.body), r.size)
	}
	return r, nil
}

// Read makes a ledger from its stored form, whose memory it refers to unless that is compressed.
func (c *Codec) Read(r Ledger, l *xrpl.Ledger) error {
	body, err := c.decompress(r)
	if err != nil {
		return err
	}
	l.Index, l.Hash, l.Header = r.Index(), r.Hash, r.Header
	l.Transactions, body, err = pack.CutTransactions(l.Transactions[:0], body, r.Transactions)
	if err == nil && len(body) > 0 {
		err = fmt.Errorf("%d bytes follow its transactions", len(body))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", flat.ErrDamaged, err)
	}
	return nil
}
