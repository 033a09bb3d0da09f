package recording

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/parts/vfs"
	"dyno/parts/vfs/faultdisk"
	"dyno/services/arena/game"
	"dyno/services/arena/lanes"
)

// killPath names the file to which a copy of the test binary records until it is killed.
const killPath = "RECORDING_TEST_RECORD_TO"

// background is what writes, until the test ends.
func background(t testing.TB) *lanes.Lanes {
	l := lanes.New(lanes.Config{Workers: 1})
	t.Cleanup(l.Close)
	return l
}

func TestMain(m *testing.M) {
	if path := os.Getenv(killPath); path != "" {
		fmt.Fprintln(os.Stderr, recordForever(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// recordForever prints each tick with its hash, when a later block was written.
func recordForever(path string) error {
	rec, err := Create(path, Header{Seed: 5}, lanes.New(lanes.Config{Workers: 1}))
	if err != nil {
		return err
	}
	r := &room{World: game.New(5), rec: rec}
	for range 2 {
		r.join()
	}
	for {
		for id := uint32(1); id <= 2; id++ {
			r.bot(id)
			r.apply(id, game.Command{Buttons: r.Tick() / 7 & 31, ViewTick: r.Tick()})
		}
		r.step()
		if _, err := fmt.Println(r.Tick(), Hash(r.hash())); err != nil {
			return err
		}
	}
}

// A process is killed while it records: what it has written replays, to the hash that it printed.
func TestKilled(t *testing.T) {
	for n := range quicktest.Of(3, 20) {
		path := filepath.Join(t.TempDir(), "room")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killPath+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hashes := map[string]string{}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			tick, hash, ok := strings.Cut(lines.Text(), " ")
			if !ok {
				break // it was cut off
			}
			hashes[tick] = hash
			if len(hashes) == 600+n*71 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		got, err := Replay(path)
		if err != nil || !got.OK || got.Incomplete == "" || got.Ticks < 300 {
			t.Fatalf("%+v, %v", got, err)
		}
		if want := hashes[strconv.Itoa(int(got.Ticks))]; want != "" && want != got.Hash.String() {
			t.Fatalf("tick %d has hash %v, and had %s", got.Ticks, got.Hash, want)
		}
	}
}

// stuck is a disk whose writes wait for a permission each, once it is stuck.
type stuck struct {
	vfs.FS
	permits chan struct{}
}

type stuckFile struct {
	vfs.File
	permits chan struct{}
}

func (s stuck) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return stuckFile{f, s.permits}, err
}

func (f stuckFile) WriteAt(b []byte, at int64) (int, error) {
	<-f.permits
	return f.File.WriteAt(b, at)
}

// While the disk stands still, the room goes on. The recording ends, and says so.
func TestDiskStandsStill(t *testing.T) {
	disk, permits := faultdisk.New(), make(chan struct{}, 2)
	permits <- struct{}{}
	permits <- struct{}{} // for the header and the first block
	var log bytes.Buffer
	rec, err := create(stuck{disk, permits}, background(t), slog.New(slog.NewTextHandler(&log, nil)), "/rooms/a", Header{})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{World: game.New(0), rec: rec, hurried: true}
	r.play(game.Hz * 10 * queued)
	close(permits)
	err = rec.Close()
	if err == nil || !strings.Contains(err.Error(), "the disk is slower than the game") || !strings.Contains(log.String(), "the disk is slower") {
		t.Errorf("%v, log %q", err, log.String())
	}
	got, err := replayed(content(t, disk))
	if err != nil || !got.OK || !strings.Contains(got.Incomplete, "the disk is slower") || got.Ticks < queued*game.Hz || got.Ticks > (queued+1)*game.Hz {
		t.Errorf("%+v, %v", got, err)
	}
}

// A disk that fails or is full ends the recording, and leaves what was recorded before.
func TestDiskFails(t *testing.T) {
	for name, fail := range map[string]func(*faultdisk.Disk){
		"a write": func(d *faultdisk.Disk) { d.FailWrite(1) },
		"space":   func(d *faultdisk.Disk) { d.Full(100) },
		"power":   func(d *faultdisk.Disk) { d.Cut() },
		"a sync":  func(d *faultdisk.Disk) { d.FailSync(1) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := faultdisk.New()
			r := on(t, disk, Header{})
			r.play(60)
			servicetest.Await(t, func() string { return "both blocks" }, func() bool {
				got, err := replayed(content(t, disk))
				return err == nil && got.Ticks == 60
			})
			fail(disk)
			for range 50 {
				r.step()
			}
			if err := r.rec.Close(); err == nil {
				t.Error("the recording has no error")
			}
			if name == "power" {
				disk = disk.Crash(1)
			}
			if f, err := disk.Open("/rooms/a"); err == nil {
				f.Close()
			} else {
				t.Fatal(err)
			}
			got, err := replayed(content(t, disk))
			switch {
			case name == "power":
				// Without a sync a file may be anything, which is said or replayed.
				if err == nil && !got.OK {
					t.Errorf("%+v", got)
				}
			case name == "a sync":
				if err != nil || !got.OK || got.Ticks != 110 {
					t.Errorf("%+v, %v", got, err)
				}
			case err != nil || !got.OK || got.Ticks != 60 && name == "a write" || got.Incomplete == "":
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// The power fails after Close: all of it is there.
func TestIsDurable(t *testing.T) {
	disk := faultdisk.New()
	r := on(t, disk, Header{})
	r.play(100)
	if err := r.rec.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, content(t, disk.CrashClean()), 100, r.hash())
}

// A tick without a bound ends the recording, not the room.
func TestTickTooLarge(t *testing.T) {
	disk := faultdisk.New()
	r := on(t, disk, Header{})
	id := r.join()
	r.step()
	for n := range maxBlock {
		r.apply(id, game.Command{Buttons: uint32(n)})
	}
	r.step()
	r.step()
	if err := r.rec.Close(); err == nil || !strings.Contains(err.Error(), "tick 2 takes") {
		t.Errorf("%v", err)
	}
	if got, err := replayed(content(t, disk)); err != nil || !got.OK || !strings.Contains(got.Incomplete, "tick 2 takes") {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzReplay changes files.
func FuzzReplay(f *testing.F) {
	disk := faultdisk.New()
	r := on(f, disk, Header{Room: "r", Seed: 1})
	r.play(40)
	r.rec.Close()
	b := content(f, disk)
	f.Add(b)
	f.Add(b[:len(b)-9])
	f.Add([]byte("dynowal\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := replayed(b); err != nil && r.OK {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// FuzzBlock changes blocks, behind their checksums.
func FuzzBlock(f *testing.F) {
	disk := faultdisk.New()
	r := on(f, disk, Header{})
	r.play(10)
	f.Add(r.rec.block)
	f.Add([]byte{opJoin, 1, opBots, 1, 200, 3, opStep, 1, 2, opFinish, 1, 'x'})
	f.Add([]byte{0xff, 1, 1, 1, 1, opCheck})
	r.rec.Close()
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPlayer(1)
		if err := p.block(b); err == nil && p.tick != p.world.Tick() {
			t.Errorf("tick %d of the world is %d here", p.world.Tick(), p.tick)
		}
	})
}
