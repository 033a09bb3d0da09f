package gobench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
)

// script writes a program of the shell.
func script(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// Sides that different versions of Go build are not compared.
func TestToolchainsDiffer(t *testing.T) {
	dir := modules(t)
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	fake := script(t, "go", fmt.Sprintf(`case "$1:$(pwd)" in
env:*/b) %q "$@" | sed 's/"GOVERSION": ".*"/"GOVERSION": "go1.99.1"/';;
*) exec %[1]q "$@";;
esac
`, real))
	t.Setenv("PATH", filepath.Dir(fake)+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, err = Run(t.Context(), options(dir, time.Second))
	if err == nil || !strings.Contains(err.Error(), "new by go1.99.1") || !strings.Contains(err.Error(), "set GOTOOLCHAIN") {
		t.Errorf("it says %v", err)
	}
}

// A linker without -randlayout leaves the order of functions as it is, and the result says why; and a
// program between the go command and its tools does not hide the linker.
func TestLinkerWithoutRandomLayouts(t *testing.T) {
	for _, tt := range []struct {
		name, flag, why string
	}{
		{"refuses", `echo "flag provided but not defined: -randlayout" >&2; exit 2`, "the linker refuses -randlayout: flag provided but not defined: -randlayout"},
		{"ignores", `shift 0`, "the linker makes the same program of every seed of -randlayout"},
		{"has it", `keep=1`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := modules(t)
			tool := script(t, "between", `tool="$1"; shift
case "$tool" in */link) ;; *) exec "$tool" "$@";; esac
for a in "$@"; do
	shift
	case "$a" in -randlayout=*) `+tt.flag+`; [ -n "$keep" ] || continue;; esac
	set -- "$@" "$a"
done
exec "$tool" "$@"
`)
			t.Setenv("GOFLAGS", "-toolexec="+tool)
			o := options(dir, 3*time.Second) // within which a busy machine ends the first look
			o.Bench = regexp.MustCompile("Allocates")
			r, err := Run(t.Context(), o)
			if err != nil || len(r.Benchmarks) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Layouts.Random != (tt.why == "") || r.Layouts.Reason != tt.why {
				t.Errorf("%+v", r.Layouts)
			}
			if m := r.Benchmarks[0].Metric(Allocs); m == nil || m.Comparison.Verdict != compare.Slower {
				t.Errorf("%+v", m)
			}
			if text := strings.Join(r.remarks(true), "\n"); tt.why != "" && !strings.Contains(text, "not random ("+tt.why) {
				t.Errorf("it says:\n%s", text)
			}
		})
	}
}

func TestLayoutsOfOtherArchitectures(t *testing.T) {
	for arch, want := range map[string]string{"riscv64": "riscv64", "arm64": ""} {
		r := &run{packages: nil}
		r.toolchains[0] = map[string]string{"GOARCH": arch}
		if r.probeLayouts(t.Context()); r.layouts != (want == "") || !strings.Contains(r.noLayouts, want) {
			t.Errorf("%s: layouts %v: %s", arch, r.layouts, r.noLayouts)
		}
	}
	r := &run{packages: []*pkg{{sides: [2]*binary{{}, {}}}}}
	if r.probeLayouts(t.Context()); r.layouts || !strings.Contains(r.noLayouts, "does not show how it links") {
		t.Errorf("without a command of the linker: %v, %s", r.layouts, r.noLayouts)
	}
}

// A workspace or flags of one side alone are said.
func TestSidesThatAreBuiltDifferently(t *testing.T) {
	r := &run{Options: options("/m", 0)}
	r.toolchains = [2]map[string]string{{"GOWORK": "/m/a/go.work", "GOFLAGS": ""}, {"GOWORK": "/m/b/go.work", "GOFLAGS": ""}}
	if r.compareWorkspaces(); len(r.warnings) > 0 {
		t.Errorf("each side has its own: %v", r.warnings)
	}
	r.toolchains[1] = map[string]string{"GOWORK": "", "GOFLAGS": "-tags=x"}
	r.compareWorkspaces()
	if all := strings.Join(r.warnings, "\n"); !strings.Contains(all, "different workspaces, GOWORK=/m/a/go.work and GOWORK=") || !strings.Contains(all, `different GOFLAGS, "" and "-tags=x"`) {
		t.Errorf("it says:\n%s", all)
	}
}
