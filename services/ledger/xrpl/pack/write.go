package pack

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Source is the source of ledgers: a store.
type Source interface {
	Ledger(index uint32, into *xrpl.Ledger) error
	Header(index uint32) (xrpl.Header, xrpl.Hash, error)
}

type entry struct {
	top    uint32
	offset uint64
}

// Writer writes a pack. It does not check that the ledgers are linked: Write does.
type Writer struct {
	head    Head
	to      io.Writer
	encoder *zstd.Encoder
	offset  uint64
	index   []entry
	raw     []byte // of the block being filled
	out     []byte
	top     uint32 // of the block
	ledgers uint32 // in the block
}

// Write packs a range of ledgers, all of which the source must have, and checks their links. It
// calls report, if it is not nil, after every ledger.
func Write(ctx context.Context, to io.Writer, from Source, r history.Range, report func(done int)) (Head, error) {
	_, top, err := from.Header(r.To)
	if err != nil {
		return Head{}, err
	}
	head := Head{Range: r, Top: top}
	w, err := NewWriter(to, head)
	if err != nil {
		return Head{}, err
	}
	expected := top
	for n := range r.Len() {
		if err := ctx.Err(); err != nil {
			return Head{}, err
		}
		var l xrpl.Ledger
		if err := from.Ledger(r.To-uint32(n), &l); err != nil {
			return Head{}, err
		}
		if expected, err = Parent(&l, expected); err != nil {
			return Head{}, fmt.Errorf("%w: run check", err)
		}
		if err := w.Add(&l); err != nil {
			return Head{}, err
		}
		if report != nil {
			report(n + 1)
		}
	}
	return head, w.Close()
}

// NewWriter begins a pack. The ledgers of head's range must follow, from the top one downwards.
func NewWriter(to io.Writer, head Head) (*Writer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	w := &Writer{head: head, to: to, encoder: encoder}
	return w, w.write(head.append(nil))
}

// Parent checks that a ledger is the expected one and returns its parent's hash.
func Parent(l *xrpl.Ledger, expected xrpl.Hash) (xrpl.Hash, error) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil {
		return xrpl.Hash{}, err
	}
	if hash := h.Hash(); hash != expected {
		return xrpl.Hash{}, fmt.Errorf("ledger %d is %v, and should be %v", l.Index, hash, expected)
	}
	return h.Parent, nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.to.Write(b)
	w.offset += uint64(n)
	return err
}

// Add appends a ledger.
func (w *Writer) Add(l *xrpl.Ledger) error {
	if w.ledgers == 0 {
		w.top = l.Index
	}
	w.raw = appendLedger(w.raw, l)
	w.ledgers++
	if w.ledgers == blockLedgers || len(w.raw) >= blockBytes {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	if w.ledgers == 0 {
		return nil
	}
	if len(w.raw) > maxBlock {
		return fmt.Errorf("ledger %d has %d bytes, above the limit of a block", w.top, len(w.raw))
	}
	if len(w.index) == maxBlocks {
		return fmt.Errorf("the pack would have more than %d blocks; pack a shorter range", maxBlocks)
	}
	b := append(w.out[:0], blockMark)
	b = binary.BigEndian.AppendUint32(b, w.top)
	b = binary.BigEndian.AppendUint32(b, w.ledgers)
	b = binary.BigEndian.AppendUint32(b, uint32(len(w.raw)))
	b = binary.BigEndian.AppendUint32(b, 0) // stored
	b = w.encoder.EncodeAll(w.raw, b)
	binary.BigEndian.PutUint32(b[blockHead-4:], uint32(len(b)-blockHead))
	w.out = appendCRC(b, 0)
	w.index = append(w.index, entry{w.top, w.offset})
	w.raw, w.ledgers = w.raw[:0], 0
	return w.write(w.out)
}

// Close ends the pack.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	footer := w.offset
	b := append(appendFooter(w.out[:0], w.index, w.head.Top), make([]byte, 8)...)
	binary.BigEndian.PutUint64(b[len(b)-8:], footer)
	return w.write(append(b, ending...))
}

func appendFooter(b []byte, index []entry, top xrpl.Hash) []byte {
	start := len(b)
	b = append(b, footerMark)
	b = binary.BigEndian.AppendUint32(b, uint32(len(index)))
	for _, e := range index {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, e.top), e.offset)
	}
	b = append(b, top[:]...)
	return appendCRC(b, start)
}
