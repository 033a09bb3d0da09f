// Command benchmarks runs the Go benchmarks that docs/results/claims.yaml names, in rounds, and keeps
// the median of each figure with an interval, as docs/results has them.
//
// It is not for comparing revisions: dyno bench does. It owns every process that it starts.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"dyno/bench/command"
	"dyno/bench/stored"
	"dyno/lab/compare"
)

const usage = `Benchmarks runs each "go test -bench" of docs/results/claims.yaml once in each of ten rounds, and prints the medians. It
runs in this repository's root, and takes ten minutes.

Usage: go run ./bench/claims/benchmarks [flags]

`

func main() { command.Main("benchmarks", run) }

// rounds is the number of times that each benchmark runs.
const rounds = 10

func run(ctx context.Context, args []string, out io.Writer) error {
	f := command.Flags("benchmarks", usage, out)
	file := f.String("json", "", "file that keeps the result")
	if err := command.Parse(f, args); err != nil {
		return err
	}
	claims, err := os.ReadFile("docs/results/claims.yaml")
	if err != nil {
		return err
	}
	commit, modified, err := stored.Tree(ctx)
	if err != nil {
		return err
	}
	began := stored.Watch()
	all := values{}
	for round := range rounds {
		for _, c := range commands(string(claims)) {
			fmt.Fprintf(os.Stderr, "round %d of %d  %s\n", round+1, rounds, strings.Join(c, " "))
			cmd := exec.CommandContext(ctx, c[0], c[1:]...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) } // go test and its program
			cmd.WaitDelay = 10 * time.Second
			cmd.Stderr = os.Stderr
			text, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, text)
			}
			all.add(path.Base(c[len(c)-1]), string(text))
		}
	}
	steps := all.steps()
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range steps {
		fmt.Fprintf(t, "%v\t%.4g ns\t%.4g\n", s["name"], s["ns_per_op"], s["ns_per_op_interval"])
	}
	if err := t.Flush(); err != nil || *file == "" {
		return err
	}
	if now, changed, err := stored.Tree(ctx); err != nil {
		return err
	} else if changed || now != commit {
		modified = true // go test built it anew in a later round
	}
	made := began.Made(commit, modified, []string{"go", "run", "./bench/claims/benchmarks"}, []string{"dyno/bench/claims/benchmarks"})
	return stored.Write(*file, struct {
		Schema string           `json:"schema"`
		Steps  []map[string]any `json:"steps"`
		Made   stored.Made      `json:"made"`
	}{"dyno.benchmarks/1", steps, made})
}

var named = regexp.MustCompile(`(?m)^ +command: (go test .*-bench .* \./\S+)$`)

// commands are those of the claims, each once, with shorter times and the allocations.
func commands(claims string) (all [][]string) {
	for _, m := range named.FindAllStringSubmatch(claims, -1) {
		c := strings.Fields(strings.ReplaceAll(m[1], "'", ""))
		c = slices.DeleteFunc(c, func(word string) bool { return word == "-benchmem" })
		last := len(c) - 1
		flags := []string{"-benchmem", "-count=1"}
		if !slices.Contains(c, "-benchtime") {
			flags = append(flags, "-benchtime", "300ms")
		}
		c = slices.Insert(c, last, flags...)
		if !slices.ContainsFunc(all, func(a []string) bool { return slices.Equal(a, c) }) {
			all = append(all, c)
		}
	}
	return all
}

// values has what each benchmark printed, by its name with its folder and by unit.
type values map[string]map[string][]float64

var procs = regexp.MustCompile(`-\d+$`)

// add reads the output of go test.
func (v values) add(folder, text string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := folder + "." + procs.ReplaceAllString(strings.TrimPrefix(words[0], "Benchmark"), "")
		if v[name] == nil {
			v[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(words); i += 2 {
			if n, err := strconv.ParseFloat(words[i], 64); err == nil {
				v[name][words[i+1]] = append(v[name][words[i+1]], n)
			}
		}
	}
}

// keys are the units that are kept.
var keys = map[string]string{"ns/op": "ns_per_op", "CPU-ns/op": "cpu_ns_per_op", "cpu-ns/op": "cpu_ns_per_op", "B/op": "bytes_per_op", "allocs/op": "allocs_per_op", "B/message": "bytes_per_message", "parked": "parked", "parks/s": "parks_per_s"}

// steps are the medians with their intervals.
func (v values) steps() (all []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		step := map[string]any{"name": name}
		for unit, of := range v[name] {
			if key := keys[unit]; key != "" {
				step[key], step[key+"_interval"] = compare.Median(of), compare.MedianInterval(of)
			}
		}
		all = append(all, step)
	}
	return all
}
