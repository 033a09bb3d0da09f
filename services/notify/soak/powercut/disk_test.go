package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

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

func (s steps) cut() {
	s.Cut()
	s.Restore(false)
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
			s.must(errors.Join(s.Root().Sync(), f.Allocate(0, 4, false), f.Sync(), f.Allocate(0, 1<<20, true)))
		}, []string{"f=\x00\x00\x00\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := steps{t, NewDisk(DefaultCapacity, 1)}
			c.do(s)
			s.cut()
			s.holds(c.want...)
		})
	}
}

func TestWithoutPower(t *testing.T) {
	s := steps{t, NewDisk(DefaultCapacity, 1)}
	f := s.create(s.Root(), "f", false)
	s.Cut()
	_, write := f.WriteAt([]byte("x"), 0)
	_, read := f.ReadAt(make([]byte, 1), 0)
	_, create := s.Root().Create("g", 0, false)
	for _, err := range []error{write, read, create, f.Sync(), s.Root().Sync(), f.Truncate(0), s.Root().Remove("f", false)} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v, want %v", err, syscall.EIO)
		}
	}
}

func TestFull(t *testing.T) {
	s := steps{t, NewDisk(3*pageSize, 1)}
	f := s.create(s.Root(), "f", false)
	s.write(f, "x", 2*pageSize)
	if _, err := f.WriteAt(make([]byte, 3*pageSize), 0); err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt(make([]byte, 2*pageSize), 2*pageSize); !errors.Is(err, syscall.ENOSPC) || n != 0 {
		t.Fatalf("wrote %d: %v", n, err)
	}
	s.must(f.Truncate(pageSize))
	s.write(f, "x", 2*pageSize)
	s.must(s.Root().Remove("f", false))
	s.write(s.create(s.Root(), "g", false), "x", 3*pageSize)
}

// Whatever a power cut keeps of what was not synced, it keeps what was, and each sector is old or
// new.
func TestKeepsSome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := steps{t, NewDisk(DefaultCapacity, rapid.Uint64().Draw(t, "seed"))}
		f := s.create(s.Root(), "f", false)
		before := bytes.Repeat([]byte{1}, rapid.IntRange(1, 3*pageSize).Draw(t, "size"))
		s.write(f, string(before), 0)
		s.must(errors.Join(f.Sync(), s.Root().Sync()))
		at := rapid.IntRange(0, 3*pageSize).Draw(t, "at")
		after := bytes.Repeat([]byte{2}, rapid.IntRange(1, 2*pageSize).Draw(t, "written"))
		s.write(f, string(after), int64(at))
		for i := range rapid.IntRange(0, 5).Draw(t, "files") {
			s.create(s.Root(), fmt.Sprint("g", i), false)
		}
		s.Cut()
		s.Restore(true)
		names, err := s.Root().Names()
		s.must(err)
		for i, name := range names[1:] {
			if name != fmt.Sprint("g", i) {
				t.Fatalf("%q are no first few of the changes", names)
			}
		}
		got := read(s, f)
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
			if j := i - 1; i%sectorSize > 0 && written && j >= at && j < len(before) == (i < len(before)) && got[j] != b {
				t.Fatalf("sector of byte %d is torn", i)
			}
		}
		s.cut()
		if again := read(s, f); !bytes.Equal(got, again) {
			t.Fatal("what was kept is not durable")
		}
	})
}
