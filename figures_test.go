package dyno

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A published figure is a file: docs/results/NAME.json is what dyno report DIR --json printed. A
// page has its table between two marks:
//
//	<!-- figures: NAME KEY KEY ... -->
//	<!-- end -->
//
// with the keys of the JSON's steps; a key that has an interval is followed by it. Where a table is
// of the quick form, or of a machine that others used, the mark says so: "quick", "busy".

// update writes what stands between marks anew; without it, that must be as it would be written.
var update = flag.Bool("update", false, "write the tables of figures and settings anew")

// ages prints how old each result is, in commits of what it measured (make figures).
var ages = flag.Bool("ages", false, "print the age of each table of figures")

// marked is what stands between two marks: their kind, the name, further words, the text.
var marked = regexp.MustCompile(`(?ms)^<!-- (\w+): (\S+)([^\n]*?) -->\n(.*?)^<!-- end -->$`)

// mostOthers is the share of the machine that others may take in a published result.
const mostOthers = 0.05

// result is a stored result, as far as tables and claims show it.
type result struct {
	Steps   []map[string]any
	Sweep   []map[string]any // a variant at a rate
	Scaling []struct {
		Variant string
		Points  []map[string]any // by concurrency
	}
	Databases []map[string]any // those of a variant
	Made      struct {
		Commit   string
		Base     string `json:"base_commit"`
		Modified bool
		Date     time.Time
		Command  []string
		Machine  string
		Packages []string
		Others   *float64
		Steal    *float64
	}
}

func TestFigures(t *testing.T) {
	used := map[string]bool{}
	holdMarked(t, "figures", func(name string, keys []string) (string, error) {
		used[name] = true
		return tableOf(name, keys)
	})
	files, err := filepath.Glob("docs/results/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if !used[name] {
			t.Errorf("%s: no page has a table of it; delete it", file)
		}
		if *ages {
			fmt.Println(age(t, name))
		}
	}
}

// holdMarked compares what stands between marks of a kind, in all pages, with what write returns
// for the mark's name and further words, or writes it there (-update).
func holdMarked(t *testing.T, kind string, write func(name string, words []string) (string, error)) {
	t.Helper()
	for _, page := range pages(t) {
		text := read(t, page)
		want := marked.ReplaceAllStringFunc(text, func(block string) string {
			m := marked.FindStringSubmatch(block)
			if m[1] != kind {
				return block
			}
			table, err := write(m[2], strings.Fields(m[3]))
			if err != nil {
				t.Errorf("%s: %s %s: %v", page, kind, m[2], err)
				return block
			}
			return fmt.Sprintf("<!-- %s: %s%s -->\n%s<!-- end -->", kind, m[2], m[3], table)
		})
		switch {
		case want == text:
		case *update:
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: a table of %s is not what it would be written as: go test . -run %s -update", page, kind, t.Name())
		}
	}
}

// interval is one as tables have it, and not a list of a scenario.
var interval = regexp.MustCompile(`[^:] \[[-+]?\d[\d,.]*, [-+]?\d[\d,.]*\]`)

// An interval belongs to a table, where its conditions are.
func TestIntervalsAreInTables(t *testing.T) {
	for _, page := range pages(t) {
		for i, line := range strings.Split(read(t, page), "\n") {
			if found := interval.FindString(line); found != "" && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d: an interval outside a table: %s", page, i+1, found)
			}
		}
	}
}

// measured matches a cell that has nothing but a figure.
var measured = regexp.MustCompile(`\| *[<>~]?[-+]?\d[\d,.]*(x|%| ?(ns|us|ms|s|MB|MiB|GB|/s))?( \[[^]]*\])? *\|`)

// A table of figures is written from a stored result, in the pages that are for figures.
func TestFiguresAreStored(t *testing.T) {
	for _, page := range pages(t) {
		if !strings.HasSuffix(page, "-measured.md") && !strings.HasSuffix(page, "-accuracy.md") && !slices.Contains([]string{"README.md", "arenad-heartbeat.md", "chaind-faults.md", "generator.md", "compare-revisions.md", "tune.md"}, path.Base(page)) {
			continue
		}
		for line := range strings.Lines(marked.ReplaceAllString(read(t, page), "")) {
			if found := measured.FindString(line); found != "" && strings.HasPrefix(line, "|") {
				t.Errorf("%s: a figure of no stored result, %s in: %s", page, found, line)
			}
		}
	}
}

// tableOf returns the table of a stored result, and where it is from.
func tableOf(name string, keys []string) (string, error) {
	if name == "claims" {
		return claimsTable(keys)
	}
	r, err := stored(name)
	if err != nil {
		return "", err
	}
	quick, busy := slices.Contains(keys, "quick"), slices.Contains(keys, "busy")
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "quick" || k == "busy" })
	m := r.Made
	switch {
	case m.Commit == "" || m.Modified:
		return "", fmt.Errorf("it is of modified code, or of no known commit: measure a commit, in a clean clone, with GOFLAGS=-buildvcs=true")
	case slices.Contains(m.Command, "--quick") && !quick:
		return "", fmt.Errorf("it is of the quick form; measure in full, or write quick into the mark")
	case (m.Others == nil || *m.Others >= mostOthers) && !busy:
		return "", fmt.Errorf("others took %s of its machine, and less than 5%% is asked for; measure again, or write busy into the mark", percentOf(m.Others))
	}
	var out strings.Builder
	line := func(cells []string) { fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | ")) }
	var heads, rules []string
	for _, k := range keys {
		c, known := columns[k]
		if !known {
			return "", fmt.Errorf("no column shows %q", k)
		}
		heads, rules = append(heads, c.head), append(rules, "---")
	}
	line(heads)
	line(rules)
	for _, step := range r.rows(keys) {
		var cells []string
		for _, k := range keys {
			if n, ok := step[k].(float64); ok && slices.Contains(counts, k) {
				cells = append(cells, strconv.Itoa(int(n)))
				continue
			}
			cells = append(cells, cell(step[k], step[columns[k].interval]))
		}
		line(cells)
	}
	of := fmt.Sprintf("%.8s", m.Commit)
	if m.Base != "" {
		of += fmt.Sprintf(" after %.8s", m.Base)
	}
	fmt.Fprintf(&out, "\nCommit %s, %s, %s; others took %s of the machine, the hypervisor %s. `%s`, stored in `docs/results/%s.json`.\n", of, m.Date.Format("2006-01-02"), m.Machine, percentOf(m.Others), percentOf(m.Steal), strings.Join(m.Command, " "), name)
	return out.String(), nil
}

// rows are those of a table with these keys: the steps or, by variant, the points of a sweep.
func (r *result) rows(keys []string) []map[string]any {
	if !slices.Contains(keys, "variant") {
		return r.Steps
	}
	rows := slices.Clone(r.Sweep)
	for _, curve := range r.Scaling {
		for _, point := range curve.Points {
			point["variant"] = curve.Variant
			rows = append(rows, point)
		}
	}
	return rows
}

func stored(name string) (r result, err error) {
	text, err := os.ReadFile(filepath.Join("docs", "results", name+".json"))
	if err == nil {
		err = r.read(text)
	}
	return r, err
}

// read reads the text of a result. A capacity is one step: its own are those of the search.
func (r *result) read(text []byte) error {
	*r = result{}
	var whole map[string]any
	err := errors.Join(json.Unmarshal(text, r), json.Unmarshal(text, &whole))
	if err == nil && whole["capacity_per_s"] != nil {
		whole["name"] = whole["variant"]
		r.Steps = []map[string]any{whole}
	}
	return err
}

// cell shows a value with its interval, if it has one.
func cell(value, interval any) string {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "|", `\|`)
	case float64:
		if of, ok := interval.([]any); ok && len(of) == 2 {
			lo, _ := of[0].(float64)
			hi, _ := of[1].(float64)
			return fmt.Sprintf("%s [%s, %s]", digits(v), digits(lo), digits(hi))
		}
		return digits(v)
	}
	return "-"
}

// digits shows three significant digits with commas between thousands, and two decimals of a ratio.
func digits(v float64) string {
	if v == 0 || math.Abs(v) < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	text := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', max(0, -int(math.Floor(math.Log10(unit)))), 64)
	for i := len(text) - 3; i > 0 && unit >= 1; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func percentOf(share *float64) string {
	if share == nil {
		return "an unknown share"
	}
	return strconv.FormatFloat(100**share, 'f', 1, 64) + "%"
}

// age is how many commits changed what a result measured since. Of folders that have moved it
// counts those since they moved; what has gone has no age.
func age(t *testing.T, name string) string {
	r, err := stored(name)
	if err != nil {
		t.Fatal(err)
	}
	if gone := slices.IndexFunc(r.Made.Command, func(word string) bool {
		_, err := os.Stat(word)
		return strings.HasPrefix(word, "scenarios/") && err != nil
	}); gone >= 0 {
		return fmt.Sprintf("%-20s %.8s  %s has gone with what it compared", name, r.Made.Commit, r.Made.Command[gone])
	}
	packages, err := today(r.Made.Packages)
	if err != nil {
		return fmt.Sprintf("%-20s %.8s  %v", name, r.Made.Commit, err)
	}
	list, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.Dir}}{{end}}"}, packages...)...).Output()
	if err != nil {
		return fmt.Sprintf("%-20s %.8s  %v: %v", name, r.Made.Commit, r.Made.Packages, err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"rev-list", "--count", "--no-merges", r.Made.Commit + "..HEAD", "--", ":(exclude)*_test.go"}
	for dir := range strings.Lines(string(list)) {
		if in, ok := strings.CutPrefix(strings.TrimSpace(dir), root+"/"); ok {
			args = append(args, ":(glob)"+in+"/*.go")
		}
	}
	count, err := exec.Command("git", args...).Output()
	if err != nil {
		return fmt.Sprintf("%-20s %.8s  %v", name, r.Made.Commit, err)
	}
	return fmt.Sprintf("%-20s %.8s  %s commits of what it measured ago", name, r.Made.Commit, bytes.TrimSpace(count))
}

// today returns where packages are now: what has moved since a result keeps its last two names, as
// cmd/notifyd does.
func today(measured []string) (packages []string, err error) {
	list, err := exec.Command("go", "list", "work").Output()
	if err != nil {
		return nil, err
	}
	all := strings.Fields(string(list))
	for _, p := range measured {
		i := slices.IndexFunc(all, func(a string) bool {
			return strings.HasSuffix(a, "/"+path.Join(path.Base(path.Dir(p)), path.Base(p)))
		})
		if i < 0 {
			return nil, fmt.Errorf("there is no package %s any more", p)
		}
		packages = append(packages, all[i])
	}
	return packages, nil
}
