package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// program is a module in a git repository, with five benchmarks.
type program struct{ dir string }

// source is a version of the program. The zero value is the first.
type source struct {
	order    uint64 // of the functions; 0: as they stand here
	longer   string // the benchmark that does more than 1000 rounds
	rounds   int    // and how many
	allocate string // the benchmark that has one more allocation
}

// benchmarks call the function of their name, for 1000 rounds in each iteration.
var benchmarks = []string{"Heap", "Hash", "Words", "Shapes", "Divide"}

// functions are what the benchmarks call.
var functions = []string{
	`type heap []int

func (h *heap) push(v int) {
	*h = append(*h, v)
	for i := len(*h) - 1; i > 0 && (*h)[(i-1)/2] > (*h)[i]; i = (i - 1) / 2 {
		(*h)[i], (*h)[(i-1)/2] = (*h)[(i-1)/2], (*h)[i]
	}
}`,
	`func (h *heap) pop() int {
	old := *h
	least, last := old[0], len(old)-1
	old[0] = old[last]
	*h = old[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return least
		}
		if c+1 < last && old[c+1] < old[c] {
			c++
		}
		if old[i] <= old[c] {
			return least
		}
		old[i], old[c] = old[c], old[i]
		i = c
	}
}`,
	`func Heap(n int) (sum int) {
	h := make(heap, 0, 64)
	for i := range 64 {
		h.push(i * 7919 % 97)
	}
	for i := range n {
		sum += h.pop()
		h.push(i * 7919 % 97)
	}
	return sum
}`,
	`func hash(text string) (h uint32) {
	h = 2166136261
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}`,
	`func Hash(n int) (sum int) {
	for i := range n {
		sum += int(hash(lines[i%len(lines)]))
	}
	return sum
}`,
	`func letter(c byte) bool { return 'a' <= c && c <= 'z' }`,
	`func words(text string, each func(string)) {
	for at := 0; at < len(text); at++ {
		begin := at
		for at < len(text) && letter(text[at]) {
			at++
		}
		if at > begin {
			each(text[begin:at])
		}
	}
}`,
	`func Words(n int) (sum int) {
	for i := range n {
		words(lines[i%len(lines)], func(w string) { sum += len(w) })
	}
	return sum
}`,
	`type shape interface{ area() int }

type square int

func (s square) area() int { return int(s * s) }`,
	`type box struct{ w, h int }

func (b box) area() int { return b.w * b.h }`,
	`func Shapes(n int) (sum int) {
	for i := range n {
		sum += shapes[i%len(shapes)].area()
	}
	return sum
}`,
	`func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}`,
	`func Divide(n int) (sum int) {
	for i := range n {
		sum += gcd(i+40902, 24140)
	}
	return sum
}`,
}

const fixed = `
var (
	lines  = []string{"the quick brown fox", "jumps over", "a lazy dog; and then some more of it", "end"}
	shapes = []shape{square(2), box{2, 3}, square(4), box{1, 9}, box{3, 3}}
)
`

func newProgram(ctx context.Context, dir string) (*program, error) {
	p := &program{dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/known\n\ngo 1.24\n"), 0o644); err != nil {
		return nil, err
	}
	return p, p.do(ctx, "git", "init", "-q")
}

// commit adds two versions, so that HEAD~1 is the first and HEAD the second.
func (p *program) commit(ctx context.Context, versions ...source) error {
	for _, v := range versions {
		for file, text := range v.files() {
			if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o644); err != nil {
				return err
			}
		}
		if err := p.record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// record commits the files as they are, also those that a .gitignore names.
func (p *program) record(ctx context.Context) error {
	if err := p.do(ctx, "git", "add", "-A", "-f"); err != nil {
		return err
	}
	return p.do(ctx, "git", "-c", "user.name=known", "-c", "user.email=known@example.com", "commit", "-q", "--allow-empty", "-m", "a version")
}

// files returns the program and its benchmarks.
func (s source) files() map[string]string {
	order := make([]int, len(functions))
	for i := range order {
		order[i] = i
	}
	if s.order != 0 {
		order = rand.New(rand.NewPCG(s.order, 1)).Perm(len(functions))
	}
	var code, tests strings.Builder
	code.WriteString("package known\n" + fixed)
	for _, i := range order {
		code.WriteString("\n" + functions[i] + "\n")
	}
	tests.WriteString("package known\n\nimport \"testing\"\n\nvar sink int\n\nvar kept *int\n")
	for _, name := range benchmarks {
		rounds, extra := 1000, ""
		if name == s.longer {
			rounds = s.rounds
		}
		if name == s.allocate {
			extra = "\n\t\tkept = new(int)"
		}
		fmt.Fprintf(&tests, "\nfunc Benchmark%s(b *testing.B) {\n\tb.ReportAllocs()\n\tfor i := 0; i < b.N; i++ {\n\t\tsink += %s(%d)%s\n\t}\n}\n", name, name, rounds, extra)
	}
	return map[string]string{"known.go": code.String(), "known_test.go": tests.String()}
}

// do runs a command in the repository.
func (p *program) do(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, text)
	}
	return nil
}

// changed is a row of benchstat's table with a change that it calls significant.
var changed = regexp.MustCompile(`(?m)^\S+ .* [+-]\d+\.\d+% \(p=`)

// benchstat runs the benchmarks of HEAD~1 ten times, then those of HEAD, and reports whether benchstat
// finds that the time of any changed.
func (p *program) benchstat(ctx context.Context) (bool, error) {
	var files []string
	for _, revision := range []string{"HEAD~1", "-"} { // and back
		if err := p.do(ctx, "git", "checkout", "-q", revision); err != nil {
			return false, err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-count", "10", "-benchtime", "100ms")
		cmd.Dir = p.dir
		text, err := cmd.Output()
		if err != nil {
			return false, fmt.Errorf("go test: %w\n%s", err, text)
		}
		files = append(files, filepath.Join(p.dir, fmt.Sprintf("%d.out", len(files))))
		if err := os.WriteFile(files[len(files)-1], text, 0o644); err != nil {
			return false, err
		}
		defer os.Remove(files[len(files)-1]) // the next commit takes what is there
	}
	cmd := exec.CommandContext(ctx, "go", "run", benchstat, files[0], files[1])
	text, err := cmd.Output()
	if err != nil {
		return false, fmt.Errorf("benchstat: %w\n%s", err, text)
	}
	elapsed, _, _ := strings.Cut(string(text), "B/op") // the first table
	return changed.MatchString(elapsed), nil
}

// benchstat is the command of the Go project, at a version.
const benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"
