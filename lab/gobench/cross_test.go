package gobench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/parts/quicktest"
)

// The linker orders functions at random for other systems, too, without a C compiler.
func TestLayoutsOfOtherSystems(t *testing.T) {
	quicktest.Skip(t, "compiles for other systems")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.test/m\n\ngo 1.24\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, system := range [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}} {
		t.Setenv("GOOS", system[0])
		t.Setenv("GOARCH", system[1])
		t.Setenv("CGO_ENABLED", "0")
		r := &run{Options: Options{Sides: [2]Side{{Title: "A", Dir: dir}, {Title: "B", Dir: dir}}, Packages: []string{"."}, Budget: time.Second, AA: true}, temp: t.TempDir()}
		if err := os.MkdirAll(r.scratch(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := r.build(t.Context()); err != nil || len(r.packages) != 1 {
			t.Errorf("%v: %v, %+v", system, err, r.skipped)
			continue
		}
		if r.probeLayouts(t.Context()); !r.layouts {
			t.Errorf("%v: %s", system, r.noLayouts)
		}
	}
}
