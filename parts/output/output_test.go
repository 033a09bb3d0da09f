package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := To(path, nil, text("all")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "all" || err != nil {
		t.Fatalf("%s, %v", got, err)
	}
	if err := To(path, nil, text("more")); err == nil || !strings.Contains(err.Error(), "already") {
		t.Fatalf("overwritten: %v", err)
	}
	broken := errors.New("broken")
	err := To(filepath.Join(dir, "half"), nil, func(w io.Writer) error { return errors.Join(text("half")(w), broken) })
	if entries, _ := os.ReadDir(dir); !errors.Is(err, broken) || len(entries) != 1 {
		t.Fatalf("%v left %v", err, entries)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		filepath.Join(dir, "none"):          "there is no folder " + filepath.Join(dir, "none"),
		filepath.Join(dir, "file"):          filepath.Join(dir, "file") + " is a file",
		filepath.Join(dir, "file", "below"): "cannot be written: not a directory",
	} {
		path := filepath.Join(folder, "out")
		if err := To(path, nil, text("all")); err == nil || !strings.HasPrefix(err.Error(), path+" cannot be written: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestStdout(t *testing.T) {
	var out bytes.Buffer
	if err := To("-", &out, text("all")); err != nil || out.String() != "all" {
		t.Fatalf("%s, %v", &out, err)
	}
	if err := To("-", gone{}, text(strings.Repeat("x", 2*bufferSize))); err != nil {
		t.Fatalf("a reader that went away: %v", err)
	}
}
