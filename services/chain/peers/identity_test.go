package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.key")
	key := NewKey()
	if err := key.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadKey(path)
	if err != nil || got.ID() != key.ID() {
		t.Fatalf("%v is read as %v, %v", key.ID(), got, err)
	}
	if id, err := ParseID(key.ID().String()); err != nil || id != key.ID() {
		t.Errorf("%v is read as %v, %v", key.ID(), id, err)
	}
	if err := key.Write(path); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("writing again: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file for a group: %v", err)
	}
	if _, err := ReadKey(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	key := NewKey()
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key), (&key).String()} {
		if text != key.ID().String() {
			t.Errorf("it is printed as %s", text)
		}
	}
}

func TestWrongIDs(t *testing.T) {
	for _, text := range []string{"", "3d40", strings.Repeat("x", 64), NewKey().ID().String() + "0"} {
		if _, err := ParseID(text); err == nil || !strings.Contains(err.Error(), "the id that the node's key has") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzKey(f *testing.F) {
	path := filepath.Join(f.TempDir(), "node.key")
	if err := NewKey().Write(path); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := parseKey(text); err == nil && len(key.private) != 64 {
			t.Errorf("a key of %d bytes", len(key.private))
		}
	})
}
