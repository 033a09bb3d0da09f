package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"dyno/bench/stored"
)

// tally is the counts of each program, and of all.
type tally struct{ rows []map[string]any }

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
	Made   stored.Made      `json:"made"`
}

// keep adds the counts to those in the file if they are of the same dyno, and writes them. What others
// took of the machine is the highest of all.
func (r results) keep(file string, failed error) (results, error) {
	var was results
	if err := stored.Read(file, &was); err != nil {
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
		r.Made = r.Made.Beside(was.Made)
	}
	slices.SortStableFunc(r.Steps, func(a, b map[string]any) int {
		return cmp.Compare(count(a["name"] == "all"), count(b["name"] == "all"))
	})
	return r, errors.Join(failed, stored.Write(file, r))
}

// same reports whether the counts of two results may be added: those of layouts are none, and the rows of
// histories have figures beside them.
func same(a, b stored.Made) bool {
	figures := slices.Contains(b.Command, "layouts") || slices.Contains(b.Command, "histories")
	return a.Commit == b.Commit && a.Modified == b.Modified && slices.Equal(a.Command, b.Command) && !figures
}

// show prints a row for each program.
func (r results) show(out io.Writer) error {
	keys := map[string]bool{}
	for _, row := range r.Steps {
		for key := range row {
			keys[key] = true
		}
	}
	delete(keys, "name")
	delete(keys, "change") // a line's length, with a link: for the documentation
	heads := slices.Sorted(maps.Keys(keys))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "name\t"+strings.Join(heads, "\t"))
	for _, row := range r.Steps {
		cells := []string{row["name"].(string)}
		for _, key := range heads {
			cells = append(cells, cell(row[key]))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// cell shows a value of a row.
func cell(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case [2]float64:
		return fmt.Sprintf("%.4g to %.4g", v[0], v[1])
	}
	return "-"
}
