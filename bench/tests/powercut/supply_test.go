package powercut

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

func plug(t *testing.T) (*Supply, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Plug(dir, Options{})
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), dir) {
			t.Errorf("%s is still mounted (%v)", dir, err)
		}
	})
	return s, dir
}

// What a program does through the kernel means on the disk what it should.
func TestThroughTheKernel(t *testing.T) {
	s, dir := plug(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sync := func(path string) {
		t.Helper()
		f, err := os.Open(path)
		must(err)
		must(errors.Join(f.Sync(), f.Close()))
	}
	sub := filepath.Join(dir, "sub")
	must(os.Mkdir(sub, 0o755))
	sync(dir)
	log, err := os.OpenFile(filepath.Join(sub, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	must(err)
	_, err = log.WriteString("synced ")
	must(errors.Join(err, log.Sync()))
	sync(sub)
	must(os.WriteFile(filepath.Join(sub, "new"), []byte("never synced"), 0o644))
	must(os.Rename(filepath.Join(sub, "new"), filepath.Join(sub, "newer")))
	_, err = log.WriteString("not")
	must(err)
	if got, err := os.ReadFile(filepath.Join(sub, "log")); err != nil || string(got) != "synced not" {
		t.Fatalf("before the cut: %q, %v", got, err)
	}
	must(s.Cut())
	if _, err := log.WriteString("x"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write without power: %v", err)
	}
	log.Close()
	must(s.say("restore"))
	names, err := os.ReadDir(sub)
	must(err)
	got, err := os.ReadFile(filepath.Join(sub, "log"))
	if err != nil || string(got) != "synced " || len(names) != 1 {
		t.Fatalf("after the cut: %v and %q, %v", names, got, err)
	}
}

// What the kernel is not asked in tests of the model: sizes, ends of files, what is not there.
func TestCallsOfLogs(t *testing.T) {
	_, dir := plug(t)
	path := filepath.Join(dir, "f")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big := strings.Repeat("0123456789abcdef", 1<<16) // a MiB, in several writes to the kernel
	_, err = f.WriteAt([]byte(big), 5000)
	if err := errors.Join(err, f.Truncate(5000+1<<20-1), f.Sync()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := strings.Repeat("\x00", 5000) + big[:1<<20-1]; err != nil || string(got) != want {
		t.Fatalf("%d bytes came back of %d, or others: %v", len(got), len(want), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "g")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "f"), 0o755); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if err := errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), os.Remove(path)); err != nil {
		t.Error(err)
	}
}
