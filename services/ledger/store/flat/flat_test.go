package flat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"
)

func mustOpen(t testing.TB, fs vfs.FS) *Files {
	t.Helper()
	f, err := Open("data/flat", Options{FS: fs, MaxFile: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mustAppend(t testing.TB, f *Files, record []byte) Ref {
	t.Helper()
	ref, err := f.Append(append(Begin(nil), record...))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// all returns the records that a scan finds from a position on, and the damage.
func all(t testing.TB, f *Files, from Position) (records [][]byte, refs []Ref, damage []Damage) {
	t.Helper()
	err := f.Scan(from, func(ref Ref, record []byte) error {
		records, refs = append(records, bytes.Clone(record)), append(refs, ref)
		return nil
	}, func(d Damage) error { damage = append(damage, d); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return records, refs, damage
}

// Appended records are read and scanned, across reopenings, from any record on.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewMem()
		f := mustOpen(t, disk)
		var want [][]byte
		var refs []Ref
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				record := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(rt, "record")
				want, refs = append(want, record), append(refs, mustAppend(t, f, record))
			},
			"reopen": func(rt *rapid.T) {
				if err := f.Close(); err != nil {
					rt.Fatal(err)
				}
				f = mustOpen(t, disk)
			},
			"": func(rt *rapid.T) {
				got, at, damage := all(t, f, Position{})
				if !slices.EqualFunc(got, want, bytes.Equal) || !slices.Equal(at, refs) || len(damage) > 0 {
					rt.Fatalf("%d records at %v, %v; want %d at %v", len(got), at, damage, len(want), refs)
				}
				for i, ref := range refs {
					if got, err := f.Read(ref, nil); err != nil || !bytes.Equal(got, want[i]) {
						rt.Fatalf("record %d: %v", i, err)
					}
					if rest, _, _ := all(t, f, ref.End()); len(rest) != len(refs)-i-1 {
						rt.Fatalf("%d records behind record %d of %d", len(rest), i, len(refs))
					}
				}
			},
		})
	})
}

// Damage costs only the records that it overlaps, and is reported. A record that looks like a frame
// is no frame.
func FuzzScanDamaged(f *testing.F) {
	f.Add(uint16(0), []byte{1}, uint64(1))
	f.Add(uint16(300), make([]byte, 500), uint64(2))
	f.Fuzz(func(t *testing.T, at uint16, over []byte, seed uint64) {
		disk := vfs.NewMem()
		files := mustOpen(t, disk)
		random := rand.New(rand.NewPCG(seed, 0))
		var records [][]byte
		var refs []Ref
		for range 5 {
			record := make([]byte, random.IntN(120))
			for i := range record {
				record[i] = byte(random.Uint32())
			}
			records, refs = append(records, record), append(refs, mustAppend(t, files, record))
		}
		name, size := files.List(0)[0].Name, files.End().Offset
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
		from := int64(at) % size
		over = over[:min(int64(len(over)), size-from)]
		w, err := disk.OpenReadWrite("data/flat/"+name, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = w.WriteAt(over, from)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		files = mustOpen(t, disk)
		got, where, _ := all(t, files, Position{})
		for i, record := range got {
			n := slices.Index(refs, where[i])
			if n < 0 || !bytes.Equal(record, records[n]) {
				t.Fatalf("%v holds %x, which was never written", where[i], record)
			}
		}
		for n, ref := range refs {
			hit := int64(ref.Offset) < from+int64(len(over)) && from < ref.End().Offset
			if found := slices.Contains(where, ref); !hit && !found {
				t.Fatalf("record %d at %v is lost, and bytes %d to %d were written over", n, ref, from, from+int64(len(over)))
			}
		}
	})
}

// Frames inside a record of foreign bytes are not found after damage: their author does not know
// the nonce.
func TestFramesInRecords(t *testing.T) {
	disk := vfs.NewMem()
	other, err := Open("elsewhere", Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	forged := append(Begin(nil), "forged"...)
	if _, err := other.Append(forged); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, disk)
	mustAppend(t, f, forged)
	mustAppend(t, f, []byte("true"))
	name := f.List(0)[0].Name
	w, err := disk.OpenReadWrite("data/flat/"+name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = w.WriteAt([]byte{0xFF}, 0)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	got, _, damage := all(t, f, Position{})
	if len(got) != 1 || string(got[0]) != "true" || len(damage) != 1 || damage[0].To != int64(HeaderSize+len(forged)) {
		t.Errorf("%q, %v", got, damage)
	}
}

// After a power cut all synced records are there.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(20) {
		disk := vfs.NewCrashableMem()
		if err := disk.MkdirAll("data", 0o755); err != nil { // the data folder is durable before the store is made
			t.Fatal(err)
		}
		root, err := disk.OpenDir("/")
		if err == nil {
			err = errors.Join(root.Sync(), root.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, disk)
		for i := range 20 {
			mustAppend(t, f, fmt.Append(nil, i, strings.Repeat("x", 90)))
			if i == 12 {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))})
		got, _, _ := all(t, mustOpen(t, after), Position{})
		if len(got) < 13 {
			t.Fatalf("seed %d: %d records of 13 that were synced", seed, len(got))
		}
	}
}

// A record whose write failed is not there, and the next one is.
func TestFailedWrite(t *testing.T) {
	broken := false
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken && op.Kind == errorfs.OpFileWrite {
			return errors.New("the disk is broken")
		}
		return nil
	}))
	f := mustOpen(t, disk)
	mustAppend(t, f, []byte("before"))
	broken = true
	if _, err := f.Append(append(Begin(nil), "lost"...)); err == nil {
		t.Fatal("written")
	}
	broken = false
	ref := mustAppend(t, f, []byte("after"))
	if got, _, _ := all(t, f, Position{}); ref.File != 2 || len(got) != 2 || string(got[1]) != "after" {
		t.Errorf("%q, %v", got, ref)
	}
}

// A file whose creation failed does not leave its number to the next: two files with one number
// would prevent opening the folder.
func TestFailedBegin(t *testing.T) {
	broken := false
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken && op.Kind == errorfs.OpFileSync {
			return errors.New("the disk is broken")
		}
		return nil
	}))
	f := mustOpen(t, disk)
	mustAppend(t, f, make([]byte, 1000))
	broken = true
	if _, err := f.Append(append(Begin(nil), make([]byte, 1000)...)); err == nil {
		t.Fatal("written")
	}
	broken = false
	ref := mustAppend(t, f, []byte("after"))
	if got, _, _ := all(t, mustOpen(t, disk), Position{}); len(got) != 2 || string(got[1]) != "after" {
		t.Errorf("%d records, the last at %v", len(got), ref)
	}
}

func TestReadRefuses(t *testing.T) {
	f := mustOpen(t, vfs.NewMem())
	ref := mustAppend(t, f, []byte("record"))
	for name, bad := range map[string]Ref{
		"another size": {ref.File, ref.Offset, ref.Size - 1}, "beyond the end": {ref.File, ref.Offset, ref.Size + 9},
		"too large":     {ref.File, ref.Offset, 1<<32 - 1},
		"another place": {ref.File, ref.Offset + 1, ref.Size - 1}, "another file": {ref.File + 1, 0, 6},
	} {
		if got, err := f.Read(bad, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(ref, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := f.Append(Begin(nil)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A copy is complete or absent: a partial one, of this process or of a killed one, is replaced.
func TestCopyIsWhole(t *testing.T) {
	broken := true
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken && op.Kind == errorfs.OpFileSync && strings.HasPrefix(op.Path, "copy") {
			return errors.New("the disk is broken")
		}
		return nil
	}))
	f := mustOpen(t, disk)
	mustAppend(t, f, []byte("record"))
	d := Damage{File: f.List(0)[0], From: HeaderSize, To: HeaderSize + 6}
	if err := f.Copy(d, "copy"); err == nil {
		t.Fatal("copied")
	}
	if names, err := disk.List(""); err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "copy") }) {
		t.Errorf("left: %v, %v", names, err)
	}
	broken = false
	partial, err := disk.Create("copy", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = partial.Write([]byte("rec"))
	}
	if err := errors.Join(err, partial.Close(), f.Copy(d, "copy")); err != nil {
		t.Fatal(err)
	}
	got, err := disk.Open("copy")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if b, err := io.ReadAll(got); err != nil || string(b) != "record" {
		t.Errorf("%q, %v", b, err)
	}
}

// counting is a file system that counts open files.
type counting struct {
	vfs.FS
	open, most atomic.Int64
}

func (c *counting) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	if err == nil {
		if n := c.open.Add(1); n > c.most.Load() {
			c.most.Store(n)
		}
	}
	return &counted{f, c}, err
}

type counted struct {
	vfs.File
	of *counting
}

func (c *counted) Close() error { c.of.open.Add(-1); return c.File.Close() }

// However many files there are, few of them are open, and none is closed while it is read.
func TestFewAreOpen(t *testing.T) {
	disk := &counting{FS: vfs.NewMem()}
	f := mustOpen(t, disk)
	var refs []Ref
	for i := range 2 * maxOpen {
		refs = append(refs, mustAppend(t, f, bytes.Repeat([]byte{byte(i)}, 1000)))
	}
	var readers sync.WaitGroup
	for seed := range uint64(8) {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 4 * len(refs) {
				i := random.IntN(len(refs))
				if got, err := f.Read(refs[i], nil); err != nil || got[0] != byte(i) {
					t.Errorf("record %d: %v", i, err)
				}
			}
		})
	}
	readers.Wait()
	if got, _, _ := all(t, f, Position{}); len(got) != len(refs) {
		t.Errorf("%d records", len(got))
	}
	if most := disk.most.Load(); refs[len(refs)-1].File < 2*maxOpen || most > maxOpen {
		t.Errorf("%d of %d files were open", most, refs[len(refs)-1].File)
	}
	if err := f.Close(); err != nil || disk.open.Load() != 0 {
		t.Errorf("%d are open, %v", disk.open.Load(), err)
	}
}
