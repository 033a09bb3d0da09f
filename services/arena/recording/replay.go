package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"dyno/parts/wal/segment/frame"
)

// Hash is a state's hash. Its text is 16 hexadecimal digits.
type Hash uint64

// String returns the text.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Result is what a replay came to.
type Result struct {
	Header       Header `json:"-"`
	Ticks        uint32 `json:"ticks"`
	Hash         Hash   `json:"hash"`              // after the last tick
	RecordedHash Hash   `json:"recorded_hash"`     // of the same tick
	OK           bool   `json:"ok"`                // all hashes are as recorded
	Differs      uint32 `json:"differs,omitempty"` // the first tick whose hash is another; 0: none
	// Incomplete says why the recording ends before its room did; empty: it does not. The ticks before
	// are replayed.
	Incomplete string `json:"incomplete,omitempty"`
}

// DamageError says from where on a recording cannot be replayed.
type DamageError struct {
	Offset int64  // bytes before the block that is damaged
	Tick   uint32 // the first that is not replayed
	Err    error  // what is wrong with the block
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("tick %d, in the block at byte %d: %v", e.Tick, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// Replay plays a recording. An error says that the file is none, or cannot be read, or is damaged
// (a *DamageError); the result is then that of the ticks before the damage, and not OK.
func Replay(path string) (Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Result{}, err
	}
	r, err := replay(f, info.Size())
	if err != nil {
		err = fmt.Errorf("replaying %s: %w", path, err)
	}
	return r, err
}

func replay(f io.ReaderAt, size int64) (r Result, err error) {
	h, err := frame.ReadHeader(f)
	if errors.Is(err, frame.ErrForeign) {
		return r, fmt.Errorf("it is not a recording, or its first %d bytes are damaged", frame.HeaderBytes)
	} else if err != nil {
		return r, err
	}
	b := blocks{Reader: frame.NewReader(f, h.Seed(), size), at: frame.HeaderBytes, size: size}
	defer b.Free()
	header, err := b.next()
	if err != nil {
		return r, &DamageError{Offset: b.at, Err: err}
	}
	var about first
	if err := json.Unmarshal(header, &about); err != nil || about.Format == 0 {
		return r, errors.New("it is a log, but not that of a room")
	} else if about.Format != format {
		return r, fmt.Errorf("it has format %d, and this program knows format %d: replay it with the arenad that made it", about.Format, format)
	}
	r.Header = about.Header
	p := newPlayer(r.Header.Seed)
	err = b.play(p)
	r.Ticks, r.Hash, r.RecordedHash, r.Differs, r.Incomplete = p.tick, Hash(p.hash), Hash(p.recorded), p.differs, p.reason
	if errors.Is(err, errTorn) {
		r.Incomplete, err = fmt.Sprintf("%v: %d bytes after tick %d are left out", err, size-b.at, p.tick), nil
	}
	r.OK = err == nil && p.differs == 0
	return r, err
}

// errTorn means that a recording was not ended.
var errTorn = errors.New("the process or the machine stopped before the recording ended")

// blocks are those of a file, in order.
type blocks struct {
	*frame.Reader
	at, size int64
	number   uint64
}

// play plays all blocks.
func (b *blocks) play(p *player) error {
	for !p.finished {
		at := b.at
		block, err := b.next()
		if errors.Is(err, errTorn) {
			return err
		}
		if err == nil {
			err = p.block(block)
		}
		if err != nil {
			return &DamageError{at, p.tick + 1, err}
		}
	}
	if b.at != b.size {
		return &DamageError{b.at, p.tick + 1, fmt.Errorf("%d bytes follow the end", b.size-b.at)}
	}
	return nil
}

// next returns the next block, valid until the next call.
func (b *blocks) next() ([]byte, error) {
	record, data, ok, err := b.Record(b.at)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, b.broken(record)
	}
	if record.Number != b.number+1 {
		return nil, fmt.Errorf("it is block %d, not %d", record.Number, b.number+1)
	}
	b.number++
	b.at += record.Span()
	return data, nil
}

// broken says why there is no block: a process that was killed leaves the beginning of one, and a
// machine that lost power may leave zeros.
func (b *blocks) broken(record frame.Record) error {
	if left := b.size - b.at; left < frame.Span(0) || record.Number > 0 && left < record.Span() {
		return errTorn
	}
	if end, err := b.Written(b.at); err != nil {
		return err
	} else if end == b.at {
		return errTorn
	}
	return errors.New("its checksum does not match")
}
