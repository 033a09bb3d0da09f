// Package recording keeps what happens in a room in a file, and replays the file to the same state.
//
//	w, err := recording.Create(path, recording.Header{Room: "r1", Seed: seed}, background)
//	w.Join(world.Join()) // beside each call on the room's world, in the order of the calls
//	w.Step(hash)
//	err = w.Close()
//	result, err := recording.Replay(path)
//
// A Writer's methods never wait for the disk, so that the room's goroutine may call them in a tick:
// they append to a block in memory, which is written in the background once a second
// (services/arena/lanes). When the disk is 16 blocks behind, or fails, the recording ends there
// with a mark that says so, which Close logs and writes, and the game goes on. A nil Writer records
// nothing.
//
// Bots' commands are not in the file: the replay asks its own world for them (game.World.Bot).
//
// # The file
//
// It is one segment of the log's format (parts/wal/segment/frame), of which the header has magic,
// version and checksum, and each record, here called a block, a number and a checksum. The first
// block is a Header as JSON. Each other one has the ticks of a second, in the bytes that encode.go
// describes, and the state's hash at its end. Blocks are multiples of 8 bytes long, so that each of
// their bytes is under a checksum.
//
// The log itself (parts/wal/segment) is not used: it is a folder, starts each group of records with
// a sync and keeps what it cuts off, while a recording is one file to send to others, of which a
// crash may take the last second. There is one sync, at the end. What a process that was killed
// wrote in part is skipped, and reported.
//
// It is not for looking back in a live room, nor for a replay under other rules than the recorded:
// that ends with other hashes. It starts no goroutines.
package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"

	"dyno/parts/vfs"
	"dyno/services/arena/game"
)

// Header says what is recorded.
type Header struct {
	Room     string `json:"room"`
	Seed     uint64 `json:"seed"` // of game.New
	Capacity int    `json:"capacity,omitempty"`
	Bots     int    `json:"bots,omitempty"` // at the beginning; each has its Join like other players
}

// first is the first block.
type first struct {
	Format int `json:"arena_recording"` // 1
	Header
}

const (
	format     = 1
	blockBytes = 64 << 10 // a block that is larger ends before its second does
	maxBlock   = 1 << 20  // what happens in one tick may take, in bytes
	queued     = 16       // blocks that may wait for the disk
)

// Writer records a room. One goroutine at a time calls its methods, except for Close, which waits
// for the disk.
type Writer struct {
	encoder
	file  *file
	whole int    // bytes of the block up to the last Step
	hash  uint64 // at the last Step
	ended bool   // by Close, or because the recording has failed
	why   string // it ended early
	close func() error
}

// Create begins a recording in a file, which must not exist. It makes the folder if necessary.
func Create(path string, h Header, background Background) (*Writer, error) {
	return create(vfs.OS(), background, slog.Default(), path, h)
}

func create(disk vfs.FS, background Background, log *slog.Logger, path string, h Header) (*Writer, error) {
	data, err := json.Marshal(first{format, h})
	if err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("recording to %s: %w", path, err)
	}
	if old, err := disk.Open(path); err == nil {
		old.Close()
		return nil, fmt.Errorf("recording to %s: %w: choose another name, or move the file away", path, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("recording to %s: %w", path, err)
	}
	f, err := begin(disk, background, log, path, data)
	if err != nil {
		return nil, fmt.Errorf("recording to %s: %w", path, err)
	}
	w := &Writer{file: f}
	w.close = sync.OnceValue(w.finish)
	return w, nil
}

// Join records that a player joined under an id that game.World.Join returned.
func (w *Writer) Join(id uint32) {
	if w.records(id) {
		w.join(id)
	}
}

// Leave records that a player left.
func (w *Writer) Leave(id uint32) {
	if w.records(id) {
		w.leave(id)
	}
}

// Apply records a command that is about to be applied, or was just applied.
func (w *Writer) Apply(id uint32, c game.Command) {
	if w.records(id) {
		w.apply(id, c)
	}
}

// Bot records that a player does the command that game.World.Bot returns for it.
func (w *Writer) Bot(id uint32) {
	if w.records(id) {
		w.bot(id)
	}
}

// records reports whether a call should be recorded. One for a player that cannot be has no effect.
func (w *Writer) records(id uint32) bool {
	return w != nil && !w.ended && id > 0 && id <= game.MaxPlayers
}

// Step records the end of a tick, with the hash of the state after it.
func (w *Writer) Step(hash uint64) {
	if w == nil || w.ended {
		return
	}
	w.step(hash)
	w.whole, w.hash = len(w.block), hash
	switch {
	case w.whole > maxBlock:
		w.end(fmt.Sprintf("tick %d takes %d bytes, and %d are the limit", w.tick, w.whole, maxBlock))
	case w.tick%game.Hz == 0 || w.whole > blockBytes:
		w.send()
	}
}

// send leaves the block to the background, if that keeps up.
func (w *Writer) send() {
	w.checkpoint(w.hash)
	switch {
	case w.file.failed.Load():
		w.end("")
		return
	case !w.file.leave(w.block):
		w.end(fmt.Sprintf("the disk is slower than the game: %d blocks wait for it", w.file.behind.Load()))
		return
	}
	w.whole = 0
	select {
	case w.block = <-w.file.spare:
	default:
		w.block = make([]byte, 0, 2<<10)
	}
}

func (w *Writer) end(why string) { w.ended, w.why, w.block = true, why, nil }

// Close ends the recording after the last Step, and returns when the file is durable. The error
// says why the recording is not complete; what came before is in the file.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	return w.close()
}

func (w *Writer) finish() error {
	var last []byte
	if !w.ended && w.whole > 0 {
		w.block = w.block[:w.whole]
		w.checkpoint(w.hash)
		last = w.block
	}
	w.ended = true
	return w.file.finish(last, w.why)
}
