package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/made\n\ngo 1.24\n", "made.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The parser understands the diagnostics of the installed compiler, whose format is not guaranteed.
func TestCompile(t *testing.T) {
	dir := module(t, `package made

import "errors"

type T struct{ n [4]int }

func New() *T { return &T{} }

func Moved(n int) *int { return &n }

func Fail() error { return errors.New("no") }

func Sized(n int) []int { return make([]int, n) }
`)
	for range 2 { // the second time from the build cache
		l, err := Compile(t.Context(), dir, "./...")
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Packages) != 1 || l.Packages[0].Path != "example.com/made" || l.Packages[0].Name != "made" || l.Packages[0].Dir == "" {
			t.Fatalf("packages %+v", l.Packages)
		}
		for at, want := range map[int]string{7: "&T{} escapes to heap", 9: "moved to heap: n", 11: "&errors.errorString{...} escapes to heap", 13: "make([]int, n) escapes to heap"} {
			entry := l.lines[place{"example.com/made", "made.go", at}]
			if entry == nil {
				t.Errorf("line %d: nothing was said", at)
				continue
			}
			if len(entry.escapes) != 1 || entry.escapes[0].What != want || entry.escapes[0].Why == "" {
				t.Errorf("line %d: %+v, want %s", at, entry.escapes, want)
			}
		}
	}
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	dir := module(t, "package made\n\nfunc f() *int { return new(int) }\n\nvar x = absent\n")
	_, err := Compile(t.Context(), dir, "./...")
	if err == nil || !strings.Contains(err.Error(), "undefined: absent") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if _, err := Compile(t.Context(), dir, "./nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestHead(t *testing.T) {
	h := &head{most: 5}
	for _, text := range []string{"abc", "", "def", "ghi"} {
		if n, err := h.Write([]byte(text)); n != len(text) || err != nil { // a short write would end the command
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if string(h.kept) != "abcde" {
		t.Errorf("kept %q", h.kept)
	}
}
