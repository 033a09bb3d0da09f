package blockchain

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// ErrTruncated says that a file ends within a block. What was before that block is imported.
var ErrTruncated = errors.New("the file ends within this block")

// largestBlock bounds a block, in bytes. Osaka permits 8 MiB; before it, 100 million of gas paid
// for some 25 MB.
const largestBlock = 64 << 20

// appender is what Import needs of a Chain.
type appender interface {
	Head() *types.Header
	HashOf(number uint64) (common.Hash, error)
	Append(context.Context, *types.Block) error
}

// Import appends the blocks of a file to a chain, and calls appended after each. The file is as
// geth export writes it: the blocks in RLP, one after the other, the lowest first, as they are or
// compressed with gzip. Blocks that the chain has are skipped. The error names the block that is
// wrong; those before it are appended. The end of ctx stops the import between two blocks, with
// ctx's error.
func Import(ctx context.Context, chain appender, r io.Reader, appended func()) error {
	in, err := decompressed(r)
	if err != nil {
		return err
	}
	var offset, last int64 = 0, -1 // where the next block begins; the number of the last one
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := nextList(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s, at byte %d of the file: %w", placeAfter(last), offset, err)
		}
		offset += int64(len(raw))
		block := new(types.Block)
		if err := rlp.DecodeBytes(raw, block); err != nil {
			return fmt.Errorf("%s, at byte %d of the file, is no block: %w", placeAfter(last), offset-int64(len(raw)), err)
		}
		done, err := appendNew(context.WithoutCancel(ctx), chain, block)
		if err != nil {
			return fmt.Errorf("block %d (%x): %w", block.Number(), block.Hash(), err)
		}
		if last = block.Number().Int64(); done {
			appended()
		}
	}
}

// placeAfter names a block whose number cannot be read.
func placeAfter(last int64) string {
	if last < 0 {
		return "the first block"
	}
	return fmt.Sprintf("block %d, as its place says", last+1)
}

// appendNew appends a block, unless the chain has it.
func appendNew(ctx context.Context, chain appender, block *types.Block) (appended bool, err error) {
	if err := block.SanityCheck(); err != nil {
		return false, err
	}
	head := chain.Head()
	switch number := block.NumberU64(); {
	case number <= head.Number.Uint64():
		hash, err := chain.HashOf(number)
		if err == nil && hash != block.Hash() {
			err = fmt.Errorf("the chain has another block of this number: %x", hash)
		}
		return false, err
	case number > head.Number.Uint64()+1:
		return false, fmt.Errorf("the chain ends at block %d: those between are missing", head.Number)
	}
	return true, chain.Append(ctx, block)
}

// decompressed returns the blocks of a file, decompressed.
func decompressed(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	magic, err := in.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b { // a list in RLP begins with 0xc0 or more
		return in, nil
	}
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(plain, 1<<16), nil
}

// nextList returns the bytes of the next list; io.EOF after the last.
func nextList(in *bufio.Reader) ([]byte, error) {
	first, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	raw := []byte{first}
	size := uint64(first - 0xc0)
	switch {
	case first < 0xc0:
		return nil, fmt.Errorf("byte 0x%02x begins no list of RLP", first)
	case first > 0xf7:
		var length [8]byte
		digits := length[8-(first-0xf7):]
		if _, err := io.ReadFull(in, digits); err != nil {
			return nil, truncated(err)
		}
		raw = append(raw, digits...)
		size = 0
		for _, d := range digits {
			size = size<<8 | uint64(d)
		}
	}
	if size > largestBlock {
		return nil, fmt.Errorf("it would have %d bytes; a block has at most %d", size, largestBlock)
	}
	body, err := io.ReadAll(io.LimitReader(in, int64(size))) // grows with what is there, not with what is claimed
	if err == nil && uint64(len(body)) < size {
		err = io.ErrUnexpectedEOF
	}
	return append(raw, body...), truncated(err)
}

func truncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}

// Export writes the blocks from first to last, as Import reads them. The end of ctx stops it with
// its error.
func Export(ctx context.Context, w io.Writer, first, last uint64, block func(number uint64) ([]byte, error)) error {
	out := bufio.NewWriterSize(w, 1<<16)
	for n := first; n <= last; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := block(n)
		if err != nil {
			return err
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
	return out.Flush()
}
