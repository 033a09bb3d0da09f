package gobench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const printed = `goos: linux
goarch: amd64
pkg: example.test/m
=== RUN   BenchmarkEncode
BenchmarkEncode
what the benchmark prints
BenchmarkEncode-2       	  644913	       229.5 ns/op	  52.10 MB/s	      56 B/op	       5 allocs/op
Unit hits/op better=higher
Unit rows/s better=sideways
=== RUN   BenchmarkSum/size=4-2
BenchmarkSum/size=4-2
BenchmarkSum/size=4-2-2	   49088	      0.2500 ns/op	         3.500 hits/op	       0 B/op	       0 allocs/op
--- FAIL: BenchmarkBroken-2
    m_test.go:9: no
BenchmarkNoNumber-2 many ns/op
BenchmarkInf-2 10 +Inf ns/op
FAIL
`

func TestParse(t *testing.T) {
	o := parse([]byte(printed), 2)
	want := []reading{
		{"Encode", 644913, map[string]float64{Time: 229.5, Bytes: 56, Allocs: 5}},
		{"Sum/size=4-2", 49088, map[string]float64{Time: 0.25, "hits/op": 3.5, Bytes: 0, Allocs: 0}},
	}
	if !reflect.DeepEqual(o.readings, want) {
		t.Errorf("readings\n%v, want\n%v", o.readings, want)
	}
	if !reflect.DeepEqual(o.units, map[string]int{"hits/op": 1}) || !reflect.DeepEqual(o.failed, []string{"Broken"}) {
		t.Errorf("units %v, failed %v", o.units, o.failed)
	}
	if one := parse([]byte("BenchmarkSize-2 10 1 ns/op\n"), 1); len(one.readings) != 1 || one.readings[0].name != "Size-2" {
		t.Errorf("with one processor there is no suffix: %v", one.readings)
	}
	long := append(bytes.Repeat([]byte("x"), 1<<17), "\nBenchmarkA-2 10 1 ns/op\n"...)
	if after := parse(long, 2); len(after.readings) != 1 {
		t.Errorf("after a long line: %v", after.readings)
	}
}

// Whatever a benchmark prints, a reading has a name, iterations and finite figures.
func FuzzParse(f *testing.F) {
	f.Add([]byte(printed), 2)
	f.Add([]byte("BenchmarkX 1 1 ns/op 2 ns/op\nUnit better=\nUnit x better=lower better=higher\n"), 1)
	f.Add([]byte("--- FAIL: \nBenchmark 9223372036854775807 1e309 ns/op"), 8)
	f.Fuzz(func(t *testing.T, text []byte, procs int) {
		o := parse(text, procs)
		for _, r := range o.readings {
			if r.n <= 0 || len(r.values) == 0 {
				t.Errorf("%+v", r)
			}
			for unit, v := range r.values {
				if math.IsNaN(v) || math.IsInf(v, 0) || unit == "MB/s" {
					t.Errorf("%s is %g", unit, v)
				}
			}
		}
	})
}

func TestBenchmarksIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m_test.go")
	source := `package m
import "testing"
func BenchmarkN(b *testing.B) { for i := 0; i < b.N; i++ {} }
func BenchmarkLoop(b *testing.B) { for b.Loop() {} }
func BenchmarkInner(b *testing.B) { b.Run("x", func(b *testing.B) { for b.Loop() {} }) }
func BenchmarkByOther(b *testing.B) { each(b) }
func BenchmarkByN(b *testing.B) { n(b) }
func each(b *testing.B) { each(b); for b.Loop() {} }
func n(b *testing.B) { for range b.N {} }
func Benchmarkless(b *testing.B) {}
func (x *t) BenchmarkMethod(b *testing.B) {}
func BenchmarkTwo(b, c *testing.B) {}
func BenchmarkByMethod(b *testing.B) { suite{}.run(b) }
func (s suite) run(b *testing.B) { for b.Loop() {} }
func BenchmarkByCode(b *testing.B) { Run(b) }
func BenchmarkOfOther(b *testing.B) { for range b.N { plain() } }
`
	code := filepath.Join(filepath.Dir(file), "m.go")
	if err := os.WriteFile(code, []byte(`package m
import "testing"
func Run(b *testing.B) { for b.Loop() {} }
func BenchmarkNone(b *testing.B) { Run(b) }
func plain() { x.Loop() }
`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"BenchmarkN": false, "BenchmarkLoop": true, "BenchmarkInner": true, "BenchmarkByOther": true, "BenchmarkByN": false, "BenchmarkByMethod": true, "BenchmarkByCode": true, "BenchmarkOfOther": false}
	got := benchmarksIn([]string{file, file + ".missing"}, []string{code})
	for name, f := range got {
		if loops, ok := want[name]; !ok || f.loops != loops {
			t.Errorf("%s: loops by b.Loop %v, want %v (known: %v)", name, f.loops, loops, ok)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d functions, want %d", len(got), len(want))
	}
	changed := strings.Replace(source, "func n(b *testing.B) {", "func n(b *testing.B) { /* as before */ b.Log();", 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, f := range benchmarksIn([]string{file}, []string{code}) {
		if differs := f.source != got[name].source; differs != (name == "BenchmarkByN") {
			t.Errorf("%s: differs %v", name, differs)
		}
	}
}

// The line of a benchmark that begins has no suffix of GOMAXPROCS, so that what ends like one is its name.
func TestLastRun(t *testing.T) {
	for text, want := range map[string]string{
		"BenchmarkX\nBenchmarkX/workers-8\n":                                     "BenchmarkX/workers-8",
		"BenchmarkX/workers-8\nBenchmarkX/workers-8-8         \t 1 \t 2 ns/op\n": "BenchmarkX/workers-8",
		"=== RUN   BenchmarkX\nBenchmarkX\nBenchmarkX-8 1 2 ns/op\n":             "BenchmarkX",
		"PASS\n": "",
	} {
		if got := lastRun(text, 8); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestPattern(t *testing.T) {
	b := &benchmark{name: "Encode/size=1.5/a|b"}
	if got, want := b.pattern(), `^BenchmarkEncode$/^size=1\.5$/^a\|b$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		ns   float64
		want int
	}{{0.1, 1e9}, {100, 1e6}, {1e6, 100}, {50e6, 4}, {200e6, 4}, {5e9, 1}} {
		b := &benchmark{count: 1}
		if b.size(tt.ns, 0); b.n != tt.want {
			t.Errorf("%g ns/op: %d iterations, want %d", tt.ns, b.n, tt.want)
		}
	}
}

func TestReason(t *testing.T) {
	for _, tt := range []struct{ stdout, stderr, want string }{
		{"BenchmarkX\n    x_test.go:5: no luck\n--- FAIL: BenchmarkX\nFAIL\n", "", "BenchmarkX fails: x_test.go:5: no luck"},
		{"--- FAIL: BenchmarkX\n    x_test.go:5: no luck\nFAIL\n", "", "BenchmarkX fails: x_test.go:5: no luck"},
		{"BenchmarkX\nBenchmarkX-2 1 2 ns/op\n=== RUN   BenchmarkY\nBenchmarkY\n", "panic: gone\n\ngoroutine 1", "BenchmarkY ends by panic: gone"},
		{"", "", "it ends with an error and says nothing"},
	} {
		if got := firstLine(reason(tt.stdout, tt.stderr)); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if o := parse([]byte("BenchmarkX\n--- SKIP: BenchmarkX-2\n"), 2); len(o.skipped) != 1 || o.skipped[0] != "X" {
		t.Errorf("%+v", o)
	}
}

// A side that takes a thousand times as long has slices of 400 ms at most.
func TestSizeOfUnlikeSides(t *testing.T) {
	for _, tt := range []struct{ a, b, want float64 }{{100, 100, 100}, {100, 400, 200}, {700, 2e6, 5e5}} {
		if got := between(tt.a, tt.b); got != tt.want {
			t.Errorf("%g and %g: %g, want %g", tt.a, tt.b, got, tt.want)
		}
	}
}
