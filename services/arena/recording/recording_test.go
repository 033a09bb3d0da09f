package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dyno/parts/vfs/faultdisk"
	"dyno/services/arena/game"
)

var quiet = slog.New(slog.DiscardHandler)

// room is a world and its recording.
type room struct {
	*game.World
	rec      *Writer
	entities []game.Entity
	hurried  bool // does not leave the disk the time that a room does
}

func (r *room) join() uint32 {
	id := r.World.Join()
	r.rec.Join(id)
	return id
}

func (r *room) leave(id uint32) {
	r.World.Leave(id)
	r.rec.Leave(id)
}

func (r *room) apply(id uint32, c game.Command) {
	r.World.Apply(id, c)
	r.rec.Apply(id, c)
}

func (r *room) bot(id uint32) {
	r.World.Apply(id, r.World.Bot(id))
	r.rec.Bot(id)
}

func (r *room) step() {
	r.World.Step()
	r.World.Events()
	r.rec.Step(r.hash())
	for !r.hurried && r.rec != nil && r.rec.file.behind.Load() > queued/2 {
		runtime.Gosched()
	}
}

func (r *room) hash() uint64 {
	r.entities = r.World.Entities(r.entities[:0])
	return game.Hash(r.entities)
}

// on returns a room whose recording is on a disk in memory.
func on(t testing.TB, disk *faultdisk.Disk, h Header) *room {
	t.Helper()
	rec, err := create(disk, background(t), quiet, "/rooms/a", h)
	if err != nil {
		t.Fatal(err)
	}
	return &room{World: game.New(h.Seed), rec: rec}
}

// play has bots and two players, one of which leaves and comes again.
func (r *room) play(ticks int) {
	for range 6 {
		r.join()
	}
	for n := range ticks {
		for id := uint32(1); id <= 4; id++ {
			r.bot(id)
			r.bot(id)
		}
		for id := uint32(5); id <= 6; id++ {
			for i := range game.PerTick {
				r.apply(id, game.Command{Buttons: uint32(n/10+int(id)) & 31, Aim: int32(n * 100), ViewTick: uint32(max(0, n-3-i))})
			}
		}
		switch n % 50 {
		case 20:
			r.leave(5)
		case 21:
			r.join()
		}
		r.step()
	}
}

func content(t testing.TB, disk *faultdisk.Disk) []byte {
	t.Helper()
	f, err := disk.Open("/rooms/a")
	if err != nil {
		t.Fatal(err)
	}
	size, _ := f.Size()
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

func replayed(b []byte) (Result, error) { return replay(bytes.NewReader(b), int64(len(b))) }

// must replays a recording to a tick and a hash.
func must(t testing.TB, b []byte, ticks uint32, hash uint64) Result {
	t.Helper()
	r, err := replayed(b)
	if err != nil || !r.OK || r.Ticks != ticks || r.Hash != Hash(hash) || r.RecordedHash != Hash(hash) {
		t.Fatalf("%+v, %v, want tick %d and %016x", r, err, ticks, hash)
	}
	return r
}

func TestReplays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rooms", "r1.rec")
	h := Header{Room: "r1", Seed: 1<<64 - 1, Capacity: 50, Bots: 4}
	rec, err := Create(path, h, background(t))
	if err != nil {
		t.Fatal(err)
	}
	r := &room{World: game.New(h.Seed), rec: rec}
	r.play(1000)
	want := r.hash()
	r.join() // in a tick that does not end
	if err := errors.Join(rec.Close(), rec.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := Replay(path)
	if err != nil || got.Header != h || got.Incomplete != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	text, _ := json.Marshal(got)
	if s := fmt.Sprintf(`{"ticks":1000,"hash":"%016x","recorded_hash":"%016x","ok":true}`, want, want); string(text) != s {
		t.Errorf("got %s, want %s", text, s)
	}
	if _, err := Create(path, h, background(t)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("recording over another: %v", err)
	}
	if _, err := Replay(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replaying nothing: %v", err)
	}
}

func TestRecordsNothing(t *testing.T) {
	r := &room{World: game.New(1)}
	r.play(40)
	if err := r.rec.Close(); err != nil {
		t.Error(err)
	}
	disk := faultdisk.New()
	if err := on(t, disk, Header{}).rec.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, content(t, disk), 0, game.Hash(nil))
}

// Whatever a room does in whatever order, the replay comes to the same hash.
func TestReplaysAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := faultdisk.New()
		r := on(t, disk, Header{Seed: rapid.Uint64().Draw(rt, "seed")})
		id := rapid.Uint32Range(0, 9)
		far := rapid.SampledFrom([]uint32{game.MaxPlayers, game.MaxPlayers + 1, 1<<32 - 1})
		n, hash := uint32(0), game.Hash(nil)
		for range rapid.IntRange(0, 300).Draw(rt, "calls") {
			switch rapid.SampledFrom([]string{"step", "join", "leave", "apply", "apply", "far", "bots"}).Draw(rt, "call") {
			case "step":
				r.step()
				n, hash = n+1, r.hash()
			case "join":
				r.join()
			case "leave":
				r.leave(id.Draw(rt, "id"))
			case "apply":
				r.apply(id.Draw(rt, "id"), anyCommand.Draw(rt, "command"))
			case "far":
				r.apply(far.Draw(rt, "id"), anyCommand.Draw(rt, "command"))
			case "bots":
				for id := id.Draw(rt, "first"); id > 0 && id < 9; id++ {
					for range rapid.IntRange(0, 3).Draw(rt, "commands") {
						r.bot(id)
					}
				}
			}
		}
		if err := r.rec.Close(); err != nil {
			rt.Fatal(err)
		}
		if got, err := replayed(content(t, disk)); err != nil || !got.OK || got.Ticks != n || got.Hash != Hash(hash) || got.RecordedHash != got.Hash {
			rt.Fatalf("%+v, %v, want tick %d and %016x", got, err, n, hash)
		}
	})
}

var anyCommand = rapid.Custom(func(t *rapid.T) game.Command {
	return game.Command{
		Buttons:  rapid.OneOf(rapid.Uint32Range(0, 31), rapid.Uint32()).Draw(t, "buttons"),
		Aim:      rapid.OneOf(rapid.Int32Range(0, 65535), rapid.Int32()).Draw(t, "aim"),
		ViewTick: rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32()).Draw(t, "view"),
	}
})

// A full room in which all change their minds, and one in which keys are held.
func TestIsSmall(t *testing.T) {
	for name, most := range map[string]int{"random": 18_000, "keyboard": 6_000, "bots": 300} {
		disk := faultdisk.New()
		r := on(t, disk, Header{Seed: 1})
		random := rand.New(rand.NewPCG(1, 1))
		for range 50 {
			r.join()
		}
		var held [51]game.Command
		const seconds = 10
		for range seconds * game.Hz {
			for id := uint32(1); id <= 50; id++ {
				if name == "random" || random.IntN(10) == 0 {
					held[id] = game.Command{Buttons: random.Uint32N(32), Aim: random.Int32N(1 << 16)}
				}
				for range game.PerTick {
					if name == "bots" {
						r.bot(id)
						continue
					}
					held[id].ViewTick = max(r.Tick(), 3) - 3
					r.apply(id, held[id])
				}
			}
			r.step()
		}
		if err := r.rec.Close(); err != nil {
			t.Fatal(err)
		}
		b := content(t, disk)
		must(t, b, seconds*game.Hz, r.hash())
		if n := len(b) / seconds; n > most {
			t.Errorf("%s: %d bytes/s, more than %d", name, n, most)
		} else {
			t.Logf("%s: %d bytes/s of 50 players", name, n)
		}
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	r := on(t, faultdisk.New(), Header{})
	defer r.rec.Close()
	r.play(20 * game.Hz)
	if n := testing.AllocsPerRun(game.Hz-1, func() {
		for id := uint32(1); id <= 6; id++ {
			r.bot(id)
			r.rec.Apply(id, game.Command{Buttons: 3, Aim: int32(r.Tick())})
		}
		r.step()
	}); n >= 1 {
		t.Errorf("%v allocations a tick", n)
	}
}

// With other rules, seeds or commands the replay says from which tick on the state is another.
func TestNamesTheFirstTickThatDiffers(t *testing.T) {
	disk := faultdisk.New()
	r := on(t, disk, Header{})
	r.join()
	for n := range 100 {
		r.apply(1, game.Command{Buttons: game.Right})
		if n == 41 {
			r.World.Apply(1, game.Command{Buttons: game.Right}) // which the recording lacks
		}
		r.step()
	}
	if err := r.rec.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := replayed(content(t, disk))
	if err != nil || got.OK || got.Differs != 42 || got.Ticks != 100 || got.Hash == got.RecordedHash || got.RecordedHash != Hash(r.hash()) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A byte of a recording that was changed is found: the error names its block, and the tick.
func TestFindsDamage(t *testing.T) {
	disk := faultdisk.New()
	r := on(t, disk, Header{Room: "r1", Seed: 3})
	r.bot(r.join())
	for n := range uint32(70) { // blocks end at tick 30, 60 and 70
		r.apply(1, game.Command{Buttons: n / 9 & 31, Aim: int32(n) * 100})
		r.step()
	}
	if err := r.rec.Close(); err != nil {
		t.Fatal(err)
	}
	whole := content(t, disk)
	ends := map[uint32]bool{0: true, 30: true, 60: true, 70: true}
	for at := range whole {
		b := bytes.Clone(whole)
		b[at] ^= 1 << (at % 8)
		got, err := replayed(b)
		if err == nil || got.OK {
			t.Fatalf("byte %d differs, and the result is %+v", at, got)
		}
		var damage *DamageError
		if at < 64 {
			continue
		}
		if !errors.As(err, &damage) || damage.Offset > int64(at) || !ends[got.Ticks] || got.Ticks > 0 && damage.Tick != got.Ticks+1 {
			t.Fatalf("byte %d differs: %+v, %v", at, got, err)
		}
		if got.Hash != got.RecordedHash {
			t.Fatalf("byte %d differs: up to it the hash is %v, want %v", at, got.Hash, got.RecordedHash)
		}
	}
	// The beginning of a recording replays up to its last whole block, with a note.
	for n := range whole {
		got, err := replayed(whole[:n])
		if err != nil {
			if got.Ticks > 0 || got.OK {
				t.Fatalf("%d bytes: %+v, %v", n, got, err)
			}
			continue
		}
		if !got.OK || !ends[got.Ticks] || got.Incomplete == "" {
			t.Fatalf("%d bytes: %+v", n, got)
		}
	}
	for _, tail := range []string{"x", "\x00", strings.Repeat("\x00", 100)} {
		if got, err := replayed(append(bytes.Clone(whole), tail...)); err == nil {
			t.Errorf("bytes behind the end: %+v", got)
		}
	}
}

func TestRefusesOtherFiles(t *testing.T) {
	for name, b := range map[string][]byte{"empty": nil, "text": []byte(strings.Repeat("text ", 100))} {
		if r, err := replayed(b); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, header := range map[string]string{"another log": "{}", "not JSON": "x", "newer": `{"arena_recording":2}`} {
		disk := faultdisk.New()
		disk.MkdirAll("/rooms")
		f, err := begin(disk, background(t), quiet, "/rooms/a", []byte(header))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.finish(nil, ""); err != nil {
			t.Fatal(err)
		}
		r, err := replayed(content(t, disk))
		if err == nil || r.OK {
			t.Errorf("%s: %+v", name, r)
		} else if name == "newer" && !strings.Contains(err.Error(), "it has format 2, and this program knows format 1: replay it with") {
			t.Error(err)
		}
	}
}
