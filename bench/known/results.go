package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// tally is the counts of each program, and of all.
type tally struct{ rows []map[string]any }

// row returns the row of a name.
func (t *tally) row(name string) map[string]any {
	i := slices.IndexFunc(t.rows, func(r map[string]any) bool { return r["name"] == name })
	if i < 0 {
		i, t.rows = len(t.rows), append(t.rows, map[string]any{"name": name})
	}
	return t.rows[i]
}

func (t *tally) add(name, key string, n float64) {
	r := t.row(name)
	was, _ := r[key].(float64)
	r[key] = was + n
}

// count is 1 for what is so.
func count(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// results are what a table in the documentation is made of.
type results struct {
	Schema string           `json:"schema"`
	Steps  []map[string]any `json:"steps"`
	Made   map[string]any   `json:"made"`
}

// keep adds the counts to those in the file if they are of the same dyno, and writes them. What others
// took of the machine is the highest of all.
func (r results) keep(file string, failed error) (results, error) {
	var was results
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if same(was.Made, r.Made) {
		sum := tally{was.Steps}
		for _, row := range r.Steps {
			for key, value := range row {
				if n, ok := value.(float64); ok {
					sum.add(row["name"].(string), key, n)
				}
			}
		}
		r.Steps = sum.rows
		for _, key := range []string{"others", "steal"} {
			before, _ := was.Made[key].(float64)
			now, _ := r.Made[key].(float64)
			r.Made[key] = max(before, now)
		}
	}
	if text, err = json.MarshalIndent(r, "", "  "); err != nil {
		return r, err
	}
	return r, errors.Join(failed, os.WriteFile(file, append(text, '\n'), 0o644))
}

// same reports whether two results may be added.
func same(a, b map[string]any) bool {
	return a != nil && fmt.Sprint(a["commit"], a["modified"], a["command"]) == fmt.Sprint(b["commit"], b["modified"], b["command"]) && !slices.Contains(words(b["command"]), "layouts")
}

func words(command any) []string { return strings.Fields(strings.Trim(fmt.Sprint(command), "[]")) }

// show prints a row for each program.
func (r results) show(out io.Writer) error {
	keys := map[string]bool{}
	for _, row := range r.Steps {
		for key := range row {
			keys[key] = true
		}
	}
	delete(keys, "name")
	heads := slices.Sorted(maps.Keys(keys))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "name\t"+strings.Join(heads, "\t"))
	for _, row := range r.Steps {
		cells := []string{row["name"].(string)}
		for _, key := range heads {
			n, _ := row[key].(float64)
			cells = append(cells, strconv.FormatFloat(n, 'g', 4, 64))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// madeBy says where the counts are from.
func (o *options) madeBy(u used) map[string]any {
	others, steal, machine := u.others()
	return map[string]any{
		"commit": o.commit, "modified": o.modified, "date": time.Now().UTC().Truncate(time.Second), "machine": machine,
		"command": []string{"go", "run", "./bench/known", o.study.name}, "packages": []string{"dyno/cmd/dyno"}, "others": others, "steal": steal,
	}
}
