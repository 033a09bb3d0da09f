package live

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report/series"
)

// row formats a finished run as a row of the table of runs, in HTML. An unreadable run becomes a
// row with the error.
func (s *index) row(root *os.Root, name, id string) string {
	is, err := soundRun(root, id)
	if err != nil {
		return unreadable(id, err)
	}
	key := name + "/" + id
	if r, ok := s.rows.get(key, is); ok {
		return r
	}
	run, err := record.OpenRun(filepath.Join(s.dirOf(name), runsFolder, id))
	if err != nil {
		return unreadable(id, err)
	}
	r := rowHTML(series.RunOf(run))
	s.rows.put(key, is, r)
	return r
}

func unreadable(id string, err error) string {
	return rowHTML(series.RunOf(&record.Run{ID: id, Invalid: err.Error()}))
}

func rowHTML(r series.Run) string {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "row", r); err != nil {
		return "" // a builder accepts everything, and the template is tested
	}
	return b.String()
}

// soundRun returns the stamp of a run that is a folder of its own with files of its own.
func soundRun(root *os.Root, id string) (stamp, error) {
	if _, _, ok := runName(id); !ok {
		return stamp{}, fmt.Errorf("%q is not a run's name", id)
	}
	folder := path.Join(runsFolder, id)
	for _, dir := range []string{runsFolder, folder} {
		if at, err := root.Lstat(dir); err != nil || !at.IsDir() {
			return stamp{}, fmt.Errorf("no folder %s", dir)
		}
	}
	var is stamp
	for _, file := range []string{path.Join(folder, seriesFile), path.Join(folder, runFile)} {
		at, err := root.Lstat(file)
		if err != nil || !at.Mode().IsRegular() {
			return stamp{}, fmt.Errorf("no file %s", file)
		}
		is = stamp{at.ModTime(), at.Size()}
	}
	return is, nil
}

// maxNumber bounds the digits of a run's number.
const maxNumber = 9

// runName reads a run's ID, which is its folder's name: its number, from 1, and its purpose. Names
// in another format are refused.
func runName(id string) (n int, of string, ok bool) {
	number, of, ok := strings.Cut(id, "-")
	if !ok || len(number) > maxNumber {
		return 0, "", false
	}
	for _, c := range number {
		if c < '0' || c > '9' {
			return 0, "", false
		}
		n = 10*n + int(c-'0')
	}
	strange := strings.ContainsFunc(of, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	})
	return n, of, n > 0 && !strange
}

// runWords describe the purpose of the run in progress, as far as its folder's name shows it.
func runWords(e *record.Experiment, id string) string {
	n, of, ok := runName(id)
	if u := e.InProgress; !ok && u != nil && u.Expected == 0 && !u.Ends.IsZero() {
		return "the variants take turns"
	}
	if !ok {
		return fmt.Sprintf("after run %d: starting what comes next", len(e.Order))
	}
	if u := e.InProgress; u != nil && u.Step.Role != "" {
		return fmt.Sprintf("run %d of about %d: %s", n, u.Expected, stepWords(u.Step))
	}
	role, variant, _ := strings.Cut(of, "-")
	for _, v := range e.Variants { // the folder's name may not contain the variant's name unchanged
		if strings.HasSuffix(e.NextID(record.Step{Role: role, Variant: v.Name}), "-"+of) {
			variant = v.Name
		}
	}
	return fmt.Sprintf("run %d: %s, %s", n, variant, write("role", role))
}

// stepWords describe a step: its run, its purpose and its load.
func stepWords(s record.Step) string {
	words := []string{s.Variant + ", " + write("role", s.Role)}
	if s.Round > 0 {
		words = append(words, fmt.Sprintf("round %d", s.Round))
	}
	if s.Rate > 0 {
		words = append(words, fmt.Sprintf("at %.0f/s", s.Rate))
	}
	if s.Connections > 0 {
		words = append(words, fmt.Sprintf("%d in flight", s.Connections))
	}
	return strings.Join(words, ", ")
}
