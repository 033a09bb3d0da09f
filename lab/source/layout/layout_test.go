package layout

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The candidates in testdata/module/made, and the absence of those that are none: Apart, Guarded,
// Flagged, Padded and one.
func TestExamine(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "darwin/arm64"} {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			t.Setenv("GOOS", goos)
			t.Setenv("GOARCH", goarch)
			t.Setenv("CGO_ENABLED", "0")
			t.Setenv("GOWORK", "off") // as any other module: the repository's workspace does not list it
			r, err := Examine(t.Context(), "testdata/module", "./made")
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", goos+"-"+goarch+".json"), string(got)+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (-update rewrites it):\n%s", file, got)
	}
}

// The golden files contain the intended candidates.
func TestExamineFindsWhatIsThere(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOOS", "linux")
	t.Setenv("GOARCH", "amd64")
	t.Setenv("CGO_ENABLED", "0")
	r, err := Examine(t.Context(), "testdata/module", "./made")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range r.Sharing {
		var fields []string
		for _, f := range s.Fields {
			fields = append(fields, fmt.Sprintf("%s %s", f.Name, f.Use))
		}
		got[s.Struct] += string(s.Kind) + ": " + strings.Join(fields, ", ")
	}
	want := map[string]string{
		"made.Cursors":    "writers: head atomic, tail atomic",
		"made.Old":        "writers: Mutex lock, hits atomic, misses atomic",
		"made.Counted":    "writers: mu lock, ticks counter",
		"made.Config":     "readers: name read, served atomic",
		"[]made.Shard":    "neighbours: mu lock",
		"[]atomic.Uint64": "neighbours: (element) atomic",
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: got %q, want %q", name, got[name], w)
		}
		delete(got, name)
	}
	for name, found := range got {
		t.Errorf("%s: %s should not be listed", name, found)
	}
	padding := map[string]int64{}
	for _, p := range r.Padding {
		padding[p.Struct] = p.Waste()
	}
	if len(padding) != 2 || padding["made.Wasteful"] != 16 || padding["made.Slot"] != 8 {
		t.Errorf("padding: got %v", padding)
	}
}

func TestExamineSaysWhatIsWrong(t *testing.T) {
	t.Setenv("GOWORK", "off")
	for pattern, want := range map[string]string{"./broken": "undefined: absent", "./nowhere": "nowhere"} {
		_, err := Examine(t.Context(), "testdata/module", pattern)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}

func TestLineBytes(t *testing.T) {
	for platform, want := range map[string]int64{"linux/amd64": 64, "linux/arm64": 64, "darwin/arm64": 128, "linux/s390x": 256} {
		goos, goarch, _ := strings.Cut(platform, "/")
		if got := lineBytes(goos, goarch); got != want {
			t.Errorf("%s: %d bytes, want %d", platform, got, want)
		}
	}
}
