package pack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"dyno/services/ledger/xrpl"
)

// Reader reads a pack block by block. It checks for damage; Unpack proves the ledgers.
type Reader struct {
	Head Head

	from    *bufio.Reader
	decoder *zstd.Decoder
	offset  uint64
	index   []entry
	left    int // remaining ledgers
	stored  bytes.Buffer
}

// NewReader reads the head of a pack. The caller must Close the Reader.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, 64<<10)}
	b := make([]byte, headSize)
	n, err := io.ReadFull(r.from, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if r.Head, err = parseHead(b[:n]); err != nil {
		return nil, err
	}
	r.offset = uint64(n)
	r.left = r.Head.Range.Len()
	if r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock)); err != nil {
		return nil, err
	}
	return r, nil
}

// Close frees the Reader's memory. It does not close its source.
func (r *Reader) Close() { r.decoder.Close() }

// Next reads the next block: ledgers, from the top one downwards, whose bytes are new. After the
// last block it reads the footer to the end of the file, and returns io.EOF if there is no error.
func (r *Reader) Next() ([]*xrpl.Ledger, error) {
	mark, err := r.from.Peek(1)
	switch {
	case err != nil:
		return nil, cutOff(err)
	case r.left == 0 && mark[0] == footerMark:
		return nil, r.end()
	case r.left > 0 && mark[0] == blockMark:
		return r.block()
	}
	return nil, fmt.Errorf("%w: at byte %d, with %d ledgers missing, is neither a block nor the footer", ErrDamaged, r.offset, r.left)
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file ends too early; fetch it again", ErrDamaged)
	}
	return err
}

// read appends n bytes to stored. It takes memory as bytes arrive, not as the file announces them.
func (r *Reader) read(n int64) error {
	m, err := io.CopyN(&r.stored, r.from, n)
	r.offset += uint64(m)
	if err != nil {
		return cutOff(err)
	}
	return nil
}

func (r *Reader) block() ([]*xrpl.Ledger, error) {
	start := r.offset
	r.stored.Reset()
	if err := r.read(int64(blockHead)); err != nil {
		return nil, err
	}
	head := r.stored.Bytes()[1:]
	top, count := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	raw, stored := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if raw > maxBlock || stored > maxBlock || count == 0 || int64(count) > int64(r.left) || count > blockLedgers {
		return nil, fmt.Errorf("%w: the block at byte %d announces %d ledgers in %d bytes", ErrDamaged, start, count, raw)
	}
	if len(r.index) == maxBlocks {
		return nil, fmt.Errorf("%w: it has more than %d blocks", ErrDamaged, maxBlocks)
	}
	if err := r.read(int64(stored) + 4); err != nil {
		return nil, err
	}
	b := r.stored.Bytes()
	if !goodCRC(b) {
		return nil, fmt.Errorf("%w: the block at byte %d has a wrong checksum; fetch the file again", ErrDamaged, start)
	}
	text, err := r.decoder.DecodeAll(b[blockHead:len(b)-4], nil)
	if err != nil || len(text) != int(raw) {
		return nil, fmt.Errorf("%w: the block at byte %d has %d bytes of %d (%v)", ErrDamaged, start, len(text), raw, err)
	}
	r.index = append(r.index, entry{top, start})
	return r.ledgers(text, top, int(count))
}

func (r *Reader) ledgers(text []byte, top uint32, count int) ([]*xrpl.Ledger, error) {
	ledgers := make([]*xrpl.Ledger, 0, count)
	for range count {
		l, rest, err := cutLedger(text)
		if err != nil {
			return nil, err
		}
		if want := r.Head.Range.From + uint32(r.left-1); l.Index != want || len(ledgers) == 0 && top != want {
			return nil, fmt.Errorf("%w: ledger %d is where ledger %d should be", ErrDamaged, l.Index, want)
		}
		r.left--
		text = rest
		ledgers = append(ledgers, l)
	}
	if len(text) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow the ledgers of the block of ledger %d", ErrDamaged, len(text), top)
	}
	return ledgers, nil
}

// end reads the footer, which must match the blocks, and the end of the file.
func (r *Reader) end() error {
	start := r.offset
	want := appendFooter(nil, r.index, r.Head.Top)
	want = binary.BigEndian.AppendUint64(want, start)
	want = append(want, ending...)
	r.stored.Reset()
	if err := r.read(int64(len(want))); err != nil {
		return err
	}
	if !bytes.Equal(r.stored.Bytes(), want) {
		return fmt.Errorf("%w: the footer does not match the blocks", ErrDamaged)
	}
	if _, err := r.from.Peek(1); err == nil {
		return fmt.Errorf("%w: there are bytes after its end", ErrDamaged)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return io.EOF
}
