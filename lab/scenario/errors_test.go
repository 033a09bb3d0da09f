package scenario

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/lab/scenario/document"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestErrors compares the errors of every broken scenario in testdata/errors with its golden file.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no broken scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(filepath.Base(file), text)
			if err == nil {
				t.Fatal("a broken scenario was accepted")
			}
			golden, got := strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestPositions checks that errors are in the order of the file, and that their positions lie
// within it.
func TestPositions(t *testing.T) {
	files, _ := filepath.Glob("testdata/errors/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(file, text)
		checkErrors(t, text, err)
	}
}

// checkErrors checks what must hold for the errors of any broken file.
func checkErrors(t *testing.T, text []byte, err error) {
	t.Helper()
	var list document.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("%v is not a document.Errors with something in it", err)
	}
	if !slices.IsSortedFunc(list, func(a, b document.Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	}) {
		t.Errorf("not in the order of the file:\n%v", err)
	}
	lines := 1
	for _, r := range string(text) { // every line break that YAML knows
		if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
			lines++
		}
	}
	for _, e := range list {
		if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Message == "" {
			t.Errorf("%v does not lie in the file's %d lines, or says nothing", e, lines)
		}
	}
}

func TestManyErrorsAreCutShort(t *testing.T) {
	text := "name: x\nslo: p99=1s\nload: {url: http://x/}\ntarget:\n  build: ./x\n"
	for i := range 100 {
		text += "  unknown" + strings.Repeat("x", i) + ": 1\n"
	}
	_, err := Parse("x.yaml", []byte(text))
	const shown = 50
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != shown+1 || !strings.Contains(lines[shown], "more errors") {
		t.Errorf("%d lines; the last is %q", len(lines), lines[len(lines)-1])
	}
	if one := (document.Error{}); !errors.As(err, &one) || one.Line != 6 {
		t.Errorf("the first error is %v", one)
	}
}

func TestTooLarge(t *testing.T) {
	_, err := Parse("x.yaml", make([]byte, document.MaxBytes+1))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:1:1: the file has") {
		t.Errorf("got %v", err)
	}
}
