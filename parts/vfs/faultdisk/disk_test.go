package faultdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dyno/parts/vfs"

	"pgregory.net/rapid"
)

// steps writes tests of the disk line by line; a step that fails ends the test.
type steps struct {
	test
	*Disk
}

// test is what *testing.T and *rapid.T have in common.
type test interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func (s steps) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s steps) create(in *Node, name string, folder bool) *Node {
	s.Helper()
	n, err := in.Create(name, 0o644, folder)
	s.must(err)
	return n
}

func (s steps) write(n *Node, text string, at int64) {
	s.Helper()
	_, err := n.WriteAt([]byte(text), at)
	s.must(err)
}

// after is the test that goes on when the machine starts again.
func (s steps) after(d *Disk) steps { return steps{s.test, d} }

// lookup returns the node of a name in the root.
func (s steps) lookup(name string) *Node {
	s.Helper()
	n, err := s.Root().Lookup(name)
	s.must(err)
	return n
}

// holds compares the whole tree: folders end with a stroke, files have their content.
func (s steps) holds(want ...string) {
	s.Helper()
	var got []string
	var walk func(path string, n *Node)
	walk = func(path string, n *Node) {
		names, err := n.Names()
		s.must(err)
		for _, name := range names {
			to, err := n.Lookup(name)
			s.must(err)
			if to.IsDir() {
				got = append(got, path+name+"/")
				walk(path+name+"/", to)
				continue
			}
			got = append(got, path+name+"="+string(read(s, to)))
		}
	}
	walk("", s.Root())
	if !slices.Equal(got, want) {
		s.Fatalf("holds %q, want %q", got, want)
	}
}

func read(t test, n *Node) []byte {
	t.Helper()
	size, err := n.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if got, err := n.ReadAt(b, 0); err != nil || int64(got) != size {
		t.Fatalf("read %d of %d bytes: %v", got, size, err)
	}
	return b
}

func TestPowerCut(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s steps)
		want []string
	}{
		"a write that was not synced is lost": {func(s steps) {
			f := s.create(s.Root(), "f", false)
			s.write(f, "synced", 0)
			s.must(f.Sync())
			s.must(s.Root().Sync())
			s.write(f, "not", 0)
			s.write(f, "longer", 6)
		}, []string{"f=synced"}},
		"a name that was not synced is lost": {func(s steps) {
			f := s.create(s.Root(), "f", false)
			s.write(f, "synced", 0)
			s.must(f.Sync())
		}, nil},
		"a name without its data": {func(s steps) {
			s.write(s.create(s.Root(), "f", false), "text", 0)
			s.must(s.Root().Sync())
		}, []string{"f="}},
		"a rename that was not synced reverts": {func(s steps) {
			a, b := s.create(s.Root(), "a", false), s.create(s.Root(), "b", false)
			s.write(a, "A", 0)
			s.write(b, "B", 0)
			s.must(errors.Join(a.Sync(), b.Sync(), s.Root().Sync()))
			s.must(s.Root().Rename("a", s.Root(), "b", true))
			s.holds("b=A")
		}, []string{"a=A", "b=B"}},
		"a rename that was synced stays": {func(s steps) {
			a := s.create(s.Root(), "a", false)
			s.must(s.Root().Rename("a", s.Root(), "b", true))
			s.write(a, "A", 0)
			s.must(errors.Join(a.Sync(), s.Root().Sync()))
		}, []string{"b=A"}},
		"a removal that was not synced reverts": {func(s steps) {
			s.must(errors.Join(s.create(s.Root(), "a", false).Sync(), s.Root().Sync(), s.Root().Remove("a", false)))
			s.holds()
		}, []string{"a="}},
		"a folder goes with what is in it": {func(s steps) {
			d := s.create(s.Root(), "d", true)
			f := s.create(d, "f", false)
			s.must(errors.Join(f.Sync(), d.Sync()))
		}, nil},
		"a folder that was synced stays": {func(s steps) {
			d := s.create(s.Root(), "d", true)
			s.must(errors.Join(s.Root().Sync(), s.create(d, "f", false).Sync(), d.Sync()))
			s.create(d, "g", false)
		}, []string{"d/", "d/f="}},
		"between folders either change may stay": {func(s steps) {
			d := s.create(s.Root(), "d", true)
			f := s.create(s.Root(), "f", false)
			s.must(errors.Join(f.Sync(), s.Root().Sync(), s.Root().Rename("f", d, "f", true), d.Sync()))
		}, []string{"d/", "d/f=", "f="}},
		"a truncation that was not synced reverts": {func(s steps) {
			f := s.create(s.Root(), "f", false)
			s.write(f, "synced", 0)
			s.must(errors.Join(f.Sync(), s.Root().Sync(), f.Truncate(2), f.Truncate(4)))
			s.holds("f=sy\x00\x00")
		}, []string{"f=synced"}},
		"space that was allocated is zeros": {func(s steps) {
			f := s.create(s.Root(), "f", false)
			s.must(errors.Join(s.Root().Sync(), f.Allocate(0, 4), f.Sync(), f.Allocate(0, 1<<20)))
		}, []string{"f=\x00\x00\x00\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := steps{t, New()}
			c.do(s)
			s.after(s.CrashClean()).holds(c.want...)
		})
	}
}

func TestWithoutPower(t *testing.T) {
	s := steps{t, New()}
	f := s.create(s.Root(), "f", false)
	s.Cut()
	_, write := f.WriteAt([]byte("x"), 0)
	_, read := f.ReadAt(make([]byte, 1), 0)
	_, create := s.Root().Create("g", 0, false)
	for _, err := range []error{write, read, create, f.Sync(), s.Root().Sync(), f.Truncate(0), s.Root().Remove("f", false)} {
		if !errors.Is(err, ErrOff) {
			t.Errorf("got %v, want %v", err, ErrOff)
		}
	}
}

// A full disk takes as much of a write as it has room for; what is removed makes room.
func TestFull(t *testing.T) {
	s := steps{t, New()}
	s.Full(3000)
	f := s.create(s.Root(), "f", false)
	s.write(f, "x", 1999)
	if err := f.Allocate(2000, 1001); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("allocated: %v", err)
	}
	if n, err := f.WriteAt(make([]byte, 2000), 1500); !errors.Is(err, syscall.ENOSPC) || n != 1500 {
		t.Fatalf("wrote %d: %v", n, err)
	}
	s.must(f.Truncate(1000))
	if free := s.Free(); free != 2000 {
		t.Fatalf("%d bytes are free", free)
	}
	g := s.create(s.Root(), "g", false)
	s.must(g.Allocate(0, 2000))
	s.must(s.Root().Rename("g", s.Root(), "f", true))
	s.write(f, "a file without a name takes no space", 1000)
	if free := s.Free(); free != 1000 {
		t.Fatalf("%d bytes are free", free)
	}
	s.must(s.Root().Remove("f", false))
	s.write(s.create(s.Root(), "h", false), "x", 2999)
}

// A file that was removed while it was open is written to as before, on a disk without a limit too.
func TestWriteWithoutName(t *testing.T) {
	s := steps{t, New()}
	f := s.create(s.Root(), "f", false)
	s.write(f, "old", 0)
	s.must(s.Root().Remove("f", false))
	s.write(f, "newer", 0)
	if got := string(read(s, f)); got != "newer" {
		t.Errorf("the file holds %q", got)
	}
}

// Whatever a power cut keeps of what was not synced, it keeps what was, and each sector is old or
// new.
func TestKeepsSome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := steps{t, New()}
		f := s.create(s.Root(), "f", false)
		before := bytes.Repeat([]byte{1}, rapid.IntRange(1, 3000).Draw(t, "size"))
		s.write(f, string(before), 0)
		s.must(errors.Join(f.Sync(), s.Root().Sync()))
		at := rapid.IntRange(0, 3000).Draw(t, "at")
		after := bytes.Repeat([]byte{2}, rapid.IntRange(1, 2000).Draw(t, "written"))
		s.write(f, string(after), int64(at))
		s = s.after(s.Crash(rapid.Uint64().Draw(t, "seed")))
		got := read(s, s.lookup("f"))
		if len(got) != len(before) && len(got) != max(len(before), at+len(after)) {
			t.Fatalf("%d bytes, were %d", len(got), len(before))
		}
		for i, b := range got {
			written := i >= at && i < at+len(after)
			old := byte(0)
			if i < len(before) {
				old = 1
			}
			if b != old && !(written && b == 2) {
				t.Fatalf("byte %d is %d, was %d (written: %v)", i, b, old, written)
			}
			if j := i - 1; i%SectorBytes > 0 && written && j >= at && j < len(before) == (i < len(before)) && got[j] != b {
				t.Fatalf("sector of byte %d is torn", i)
			}
		}
		s = s.after(s.CrashClean())
		if again := read(s, s.lookup("f")); !bytes.Equal(got, again) {
			t.Fatal("what was kept is not durable")
		}
	})
}

// Of names that were not synced each survives or not, whatever becomes of the others; a folder's
// names go with it.
func TestNamesAreIndependent(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		s := steps{t, New()}
		s.must(errors.Join(s.create(s.Root(), "old", false).Sync(), s.Root().Sync()))
		s.must(s.Root().Rename("old", s.Root(), "new", true))
		s.must(s.create(s.create(s.Root(), "dir", true), "f", false).Sync())
		names, err := s.Crash(seed).Root().Names()
		s.must(err)
		seen[fmt.Sprint(names)] = true
	}
	if len(seen) != 8 {
		t.Errorf("of 8 combinations of old, new and dir there are %v", seen)
	}
}

// What a failed sync should have made durable is lost or not, also when a later sync succeeds, but
// not what is written again.
func TestFailedSync(t *testing.T) {
	for _, again := range []bool{false, true} {
		seen := map[string]bool{}
		for seed := range 100 {
			s := steps{t, New()}
			for range seed { // other choices
				s.random.Uint64()
			}
			f := s.create(s.Root(), "f", false)
			s.write(f, "old", 0)
			s.must(errors.Join(f.Sync(), s.Root().Sync()))
			s.write(f, "new", 0)
			s.FailSync(1)
			if err := f.Sync(); !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			if again {
				s.write(f, "new", 0)
			}
			s.must(f.Sync())
			s.holds("f=new")
			s = s.after(s.CrashClean())
			seen[string(read(s, s.lookup("f")))] = true
		}
		if !seen["new"] || seen["old"] == again || len(seen) > 2 {
			t.Errorf("written again: %v, and the file holds one of %v", again, seen)
		}
	}
}

// What a file is extended by is zeros, whatever was there before.
func TestExtensionIsZeros(t *testing.T) {
	for seed := range uint64(200) {
		s := steps{t, New()}
		f := s.create(s.Root(), "f", false)
		s.must(s.Root().Sync())
		for range seed {
			s.random.Uint64()
		}
		s.write(f, strings.Repeat("x", 2000), 0)
		s.FailSync(1)
		if f.Sync() == nil {
			t.Fatal("the sync did not fail")
		}
		s.must(f.Truncate(100))
		if seed%2 == 0 {
			s.must(f.Sync())
		}
		s = s.after(s.Crash(seed))
		f = s.lookup("f")
		size, err := f.Size()
		s.must(errors.Join(err, f.Truncate(3000)))
		if got := read(s, f); bytes.Contains(got[size:], []byte("x")) {
			t.Fatalf("seed %d: the file had %d bytes, and behind them there is %q", seed, size, got[size:])
		}
	}
}

// A failing write stops halfway.
func TestFailedWrite(t *testing.T) {
	s := steps{t, New()}
	f := s.create(s.Root(), "f", false)
	s.FailWrite(2)
	s.write(f, "whole ", 0)
	if n, err := f.WriteAt([]byte("half"), 6); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Fatalf("wrote %d: %v", n, err)
	}
	s.write(f, "lf", 8)
	s.holds("f=whole half")
}

// By path a disk behaves as the operating system does.
func TestPaths(t *testing.T) {
	s := steps{t, New()}
	s.must(s.MkdirAll("/a/b"))
	f, err := s.Disk.Create("/a/b/f")
	s.must(err)
	if n, err := f.ReadAt(make([]byte, 1), 0); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes of an empty file: %v", n, err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("x"), 600), 0)
	s.must(errors.Join(err, f.Sync(), s.SyncDir("/a/b")))
	s.must(s.Corrupt("/a/b/f", 599, func(b []byte) { b[0] = 'y' }))
	s.must(s.Disk.Rename("/a/b/f", "/a/g"))
	for err, do := range map[error]func() error{
		fs.ErrNotExist:    func() error { _, err := s.Open("/a/b/f"); return err },
		syscall.ENOTEMPTY: func() error { return s.Remove("/a") },
		syscall.ENOTDIR:   func() error { _, err := s.Disk.Create("/a/g/h"); return err },
	} {
		if got := do(); !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	s.holds("a/", "a/b/", "a/g="+strings.Repeat("x", 599)+"y")
	s = s.after(s.CrashClean())
	s.holds("a/", "a/b/", "a/b/f="+strings.Repeat("x", 599)+"y")
	entries, err := s.ReadDir("/a/b")
	if err != nil || !slices.Equal(entries, []vfs.Entry{{Name: "f", Size: 600}}) {
		t.Errorf("%v, %v", entries, err)
	}
	s.must(s.Remove("/a/b/f"))
	if f, err = s.Disk.Create("/a/b/f"); err != nil {
		t.Error(err)
	}
	if size, err := f.Size(); size != 0 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
}
