package arena

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/parts/assembly"
)

// table returns the rows of a table of the page, by their first cell, without backticks.
func table(t *testing.T, page, head string) (rows map[string][]string, order []string) {
	_, text, found := strings.Cut(page, "\n| "+head+" |")
	if !found {
		t.Fatalf("the page has no table that begins with %s", head)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	rows = map[string][]string{}
	for _, line := range strings.Split(text, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		name := strings.Trim(cells[0], "`")
		rows[name], order = cells[1:], append(order, name)
	}
	return rows, order
}

// The page of settings has the seams and steps of the service, and no others; TestSettings of the
// root writes its settings. The page is outside the module, so that go test keeps an old result
// when it alone has changed: -count=1.
func TestPageOfSettings(t *testing.T) {
	const file = "../../docs/reference/arenad-settings.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, parts := string(text), Assembly()
	tuned, err := parts.Resolve(assembly.Tuned, nil)
	if err != nil {
		t.Fatal(err)
	}

	seams, _ := table(t, page, "seam")
	for _, s := range parts.Seams {
		row := seams[s.Name]
		if row == nil || row[0] != "`"+tuned.Get(s.Name)+"`" {
			t.Errorf("seam %s, whose default is %s: the row is %q", s.Name, tuned.Get(s.Name), row)
			continue
		}
		var want, got []string
		for _, impl := range s.Impls {
			want = append(want, impl.Name)
		}
		for _, m := range regexp.MustCompile("(?:^|: |; )`([a-z]+)`,").FindAllStringSubmatch(row[1], -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("seam %s has the implementations %v; the page has %v", s.Name, want, got)
		}
		delete(seams, s.Name)
	}
	for name := range seams {
		t.Errorf("the page has %s, which arenad does not have", name)
	}

	steps, order := table(t, page, "step")
	var want []string
	for _, s := range parts.Ladder {
		want = append(want, s.Name)
		var change []string
		for _, name := range slices.Sorted(maps.Keys(s.Change)) {
			change = append(change, fmt.Sprintf("`%s=%s`", name, s.Change[name]))
		}
		if row := steps[s.Name]; row == nil || row[0] != strings.Join(change, ", ") {
			t.Errorf("step %s is %v: the row is %q", s.Name, change, row)
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("the ladder is %v, and on the page %v", want, order)
	}
	if t.Failed() {
		t.Logf("%s must have what Assembly has", file)
	}
}
