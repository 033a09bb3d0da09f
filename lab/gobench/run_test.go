package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/parts/quicktest"

	"go.uber.org/goleak"
)

// roleVar makes the test binary compare the modules in this folder until it is killed.
const roleVar = "GOBENCH_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleVar); dir != "" {
		_, err := Run(context.Background(), options(dir, time.Hour))
		fmt.Println(err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// modules writes two versions of a module: the second allocates once more, and has another benchmark.
func modules(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	dir = t.TempDir()
	const test = `package m

import "testing"

var sink [][]byte

func BenchmarkAllocates(b *testing.B) {
	for range b.N {
		sink = sink[:0]
		for range times {
			sink = append(sink, make([]byte, 16))
		}
	}
}

func BenchmarkSwitched(b *testing.B) {
	for %s {
	}
}

func BenchmarkReports(b *testing.B) {
	for range b.N {
		sink = sink[:0]
	}
	println("on stderr")
	b.ReportMetric(%d, "rows/op")
}
%s`
	for side, text := range map[string]string{
		"a": fmt.Sprintf(test, "range b.N", 7, ""),
		"b": fmt.Sprintf(test, "b.Loop()", 7, "func BenchmarkNew(b *testing.B) { for range b.N { sink = nil } }\nfunc BenchmarkFails(b *testing.B) { b.Fatal(\"no\") }\n"),
	} {
		for name, text := range map[string]string{"go.mod": "module example.test/m\n\ngo 1.24\n", "m/m_test.go": text, "m/m.go": fmt.Sprintf("package m\n\nconst times = %d\n", map[string]int{"a": 3, "b": 4}[side]), "same/same_test.go": "package same\n\nimport \"testing\"\n\nfunc BenchmarkSame(b *testing.B) {}\n", "none/none.go": "package none\n"} {
			file := filepath.Join(dir, side, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func options(dir string, budget time.Duration) Options {
	return Options{Sides: [2]Side{{Title: "old", Dir: filepath.Join(dir, "a")}, {Title: "new", Dir: filepath.Join(dir, "b")}}, Packages: []string{"./..."}, Budget: budget, Seed: 1}
}

// measuredOnce is the result after one generation, in which allocations are exact, of a budget that no first look exceeds.
func measuredOnce(t *testing.T, o Options) (*Result, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Budget = DefaultBudget
	o.Turn = func(generation int, _ string, _ time.Duration) {
		if generation > 1 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if r != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return r, err
}

// The real thing, for some slices: what is found does not depend on their times.
func TestRun(t *testing.T) {
	dir, temp := modules(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	r, err := Run(t.Context(), options(dir, 3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range r.Benchmarks {
		names = append(names, b.Name)
		if m := b.Metric(Time); m == nil || m.A <= 0 || m.B <= 0 {
			t.Errorf("%s has no times: %+v", b.Name, b.Metrics)
		}
	}
	suffix := regexp.MustCompile(`^(Allocates|Reports)(-\d+)?$`)
	if len(names) != 2 || !suffix.MatchString(names[0]) || !suffix.MatchString(names[1]) {
		t.Fatalf("benchmarks %v; %+v", names, r.Skipped)
	}
	for _, b := range r.Benchmarks {
		if allocs := b.Metric(Allocs); strings.HasPrefix(b.Name, "Allocates") && (b.Verdict != compare.Slower || !allocs.Exact || allocs.A != 3 || allocs.B != 4) {
			t.Errorf("%+v", allocs)
		}
		if rows := b.Metric("rows/op"); strings.HasPrefix(b.Name, "Reports") && (rows == nil || math.Round(1e9*rows.A) != 7e9) {
			t.Errorf("what the benchmark reports: %+v", rows)
		}
	}
	why := map[string]string{}
	for _, s := range r.Skipped {
		why[s.Name] += s.Why
	}
	for name, want := range map[string]string{"Switched": "b.Loop", "New": "only new has it", "Fails": "no"} {
		if !strings.Contains(why[name], want) {
			t.Errorf("%s: %q, want %q", name, why[name], want)
		}
	}
	if len(r.Equal) != 1 || r.Equal[0] != "example.test/m/same" {
		t.Errorf("equal: %v", r.Equal)
	}
	if !r.Layouts.Random {
		t.Errorf("layouts are not random: %s", r.Layouts.Reason)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for name, show := range map[string]func(*bytes.Buffer) error{"text": func(b *bytes.Buffer) error { return Print(b, r, false, 0) }, "Markdown": func(b *bytes.Buffer) error { return Markdown(b, r) }} {
		var b bytes.Buffer
		if err := show(&b); err != nil || !strings.Contains(b.String(), "m.Allocates") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// With the tests of B on both sides, a benchmark is compared that A does not have, and the loops are
// the same.
func TestTestsFrom(t *testing.T) {
	o := options(modules(t), 3*time.Second)
	from := 1
	o.TestsFrom, o.Bench, o.NoLayouts = &from, regexp.MustCompile("Switched|New|Allocates"), true
	r, err := Run(t.Context(), o)
	if err != nil || len(r.Benchmarks) != 3 || r.Layouts.Random {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, b := range r.Benchmarks {
		if m := b.Metric(Allocs); strings.HasPrefix(b.Name, "Allocates") && (m.A != 3 || m.B != 4) {
			t.Errorf("the code is not that of each side: %+v", m)
		}
	}
}

// What cannot be compared is an error that says why.
func TestNothing(t *testing.T) {
	dir := modules(t)
	o := options(dir, time.Second)
	o.Bench = regexp.MustCompile("Nowhere")
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrNothing) {
		t.Errorf("no benchmark: %v", err)
	}
	broken := filepath.Join(dir, "b/m/m_test.go")
	if err := os.WriteFile(broken, []byte("package m\n\nimport \"testing\"\n\nfunc BenchmarkAllocates(b *testing.B) { undefined() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Bench = regexp.MustCompile("Allocates")
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("a side that does not build: %v", err)
	}
}

// A package that B no longer builds, and benchmarks that only B fails, fail the gate although others pass.
func TestOnlyBFails(t *testing.T) {
	dir := modules(t)
	for name, text := range map[string]string{
		"a/m/m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\nfunc BenchmarkY(b *testing.B) {}\n",
		"b/m/m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { b.Fatal(\"no luck\") }\nfunc BenchmarkY(b *testing.B) { panic(\"gone\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, 3*time.Second)
	gates, err := compare.ParseUnitGates("ns/op<=1.01")
	if err != nil {
		t.Fatal(err)
	}
	o.Gates = gates
	r, err := Run(t.Context(), o)
	if err != nil || r.Passes() || r.Gates[0].Verdict != compare.Fail {
		t.Fatalf("%+v, %v", r, err)
	}
	var why []string
	for _, s := range r.Skipped {
		if s.Cause != FailsOnB {
			t.Errorf("%+v", s)
		}
		why = append(why, s.Why)
	}
	if all := strings.Join(why, "\n"); !strings.Contains(all, "BenchmarkY ends by panic: gone") {
		t.Errorf("it says:\n%s", all)
	}
}

// A gate on a unit that only a package reports which did not change, passes; one that no package reports is refused.
func TestGateOfAnEqualPackage(t *testing.T) {
	quicktest.Skip(t, "builds and measures")
	dir := modules(t)
	for _, side := range []string{"a", "b"} {
		text := "package same\n\nimport \"testing\"\n\nfunc BenchmarkSame(b *testing.B) { b.ReportMetric(1, \"hits/op\") }\n"
		if err := os.WriteFile(filepath.Join(dir, side, "same/same_test.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, 0)
	o.Bench, o.Gates, o.NoLayouts = regexp.MustCompile("Allocates|Same"), unitGates(t, "hits/op>=1,ns/op<=10"), true
	r, err := measuredOnce(t, o)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gates[0]; len(r.Benchmarks) != 1 || g.Verdict != compare.Pass || !strings.Contains(g.Text, "reports hits/op, and both sides build the same test binaries of 1 package") {
		t.Errorf("%+v", r.Gates)
	}
	o.Bench = regexp.MustCompile("Allocates")
	if _, err := measuredOnce(t, o); !errors.Is(err, ErrUnit) {
		t.Errorf("where no package is equal: %v", err)
	}
	o.Bench, o.Gates = regexp.MustCompile("Allocates|Same"), unitGates(t, "hit/op>=1")
	if _, err := measuredOnce(t, o); !errors.Is(err, ErrUnit) || !strings.Contains(err.Error(), "hits/op") {
		t.Errorf("where no package reports it: %v", err)
	}
}

// A package that is named and that one side does not have is no failure of that side.
func TestAPackageOfOneSide(t *testing.T) {
	for _, tt := range []struct {
		name, side, cause string
		packages          []string
		gate              string
		measured          int
	}{
		{"added", "a", OnlyB, []string{"./m", "./added"}, compare.Pass, 1},
		{"removed", "b", OnlyA, []string{"./m", "./added"}, compare.Undecided, 1},
		{"added alone", "a", OnlyB, []string{"./added"}, compare.Pass, 0},
		{"added, by its path", "a", OnlyB, []string{"example.test/m/added"}, compare.Pass, 0},
		{"added to a folder without Go files", "a", OnlyB, []string{"./added"}, compare.Pass, 0},
	} {
		if tt.measured > 0 && quicktest.On() {
			continue // it builds and measures
		}
		dir := modules(t)
		for _, side := range []string{"a", "b"} {
			const text = "package added\n\nimport \"testing\"\n\nfunc BenchmarkAdded(b *testing.B) {}\n"
			file := filepath.Join(dir, side, "added/added_test.go")
			if side == tt.side {
				file = filepath.Join(dir, side, "added/testdata")
			}
			if side == tt.side && !strings.Contains(tt.name, "folder") {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		o := options(dir, 0)
		o.Packages, o.Bench, o.Gates, o.NoLayouts = tt.packages, regexp.MustCompile("Allocates|Added"), unitGates(t, "allocs/op<=2"), true
		r, err := measuredOnce(t, o)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if len(r.Skipped) != 1 || r.Skipped[0].Cause != tt.cause || len(r.Benchmarks) != tt.measured {
			t.Errorf("%s: %d are measured, %+v", tt.name, len(r.Benchmarks), r.Skipped)
		}
		if !r.Valid || r.Gates[0].Verdict != tt.gate || tt.measured == 0 && !strings.Contains(r.Answer, "only new has") {
			t.Errorf("%s: valid %v, %s, %+v", tt.name, r.Valid, r.Answer, r.Gates)
		}
	}
}

// A benchmark that finds its files by the path of its source finds them, and what does not differ is still equal.
func TestFilesBesideTheSource(t *testing.T) {
	quicktest.Skip(t, "builds and measures")
	dir := modules(t)
	for side, times := range map[string]string{"a": "3", "b": "4"} {
		for name, text := range map[string]string{
			"finds/testdata/x": "x", "finds/m.go": "package finds\n\nconst times = " + times + "\n",
			"finds/m_test.go": `package finds

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

var sink [][]byte

func BenchmarkFinds(b *testing.B) {
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.ReadFile(filepath.Join(filepath.Dir(file), "testdata/x")); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		sink = sink[:0]
		for range times {
			sink = append(sink, make([]byte, 16))
		}
	}
}
`, "alike/m_test.go": "package alike\n\nimport (\n\t\"runtime\"\n\t\"testing\"\n)\n\nfunc BenchmarkAlike(b *testing.B) { runtime.Caller(0) }\n",
		} {
			file := filepath.Join(dir, side, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := options(dir, 0)
	o.Packages = []string{"./finds", "./alike"}
	r, err := measuredOnce(t, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Benchmarks) != 1 || r.Benchmarks[0].Metric(Allocs).B != 4 || len(r.Skipped) > 0 || len(r.Equal) != 1 || !r.Layouts.Random {
		t.Errorf("%+v, %+v, equal: %v, %+v", r.Benchmarks, r.Skipped, r.Equal, r.Layouts)
	}
}

// However it ends, no process and no folder stays behind.
func TestKill(t *testing.T) {
	dir, temp := modules(t), t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+dir, "TMPDIR="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	running := func() (pids []int) { // processes whose program is in the folder
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, temp) {
				pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("needs /proc")
	}
	until(t, "a benchmark should run", func() bool { return len(running()) > 0 })
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond) // any moment will do
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	until(t, "nothing should be left", func() bool {
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0 && len(running()) == 0
	})
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("gave up waiting: %s", what)
}

func TestInterrupt(t *testing.T) {
	dir, temp := modules(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(dir, time.Hour)
	o.Turn = func(generation int, _ string, left time.Duration) {
		if generation >= 2 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Benchmarks) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
