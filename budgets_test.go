package dyno

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// What a reader holds in mind, in lines of product code: comments count, tests and generated code
// do not. A package is as large as the one thing it is.
const (
	fileBudget  = 400
	plainBudget = 800 // services/*/plain: what the ladder's load needs, and no more
)

func TestBudgets(t *testing.T) {
	lines := map[string]int{}
	budgets := map[string]int{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text[:min(len(text), 200)], []byte("DO NOT EDIT")) {
			continue
		}
		n := bytes.Count(text, []byte("\n"))
		file = filepath.ToSlash(file)
		lines[file], budgets[file] = n, fileBudget
		dir := path.Dir(file)
		if plain, _ := path.Match("services/*/plain", dir); plain {
			lines[dir], budgets[dir] = lines[dir]+n, plainBudget
		}
	}
	for what, n := range lines {
		if n > budgets[what] {
			t.Errorf("%s has %d lines, over its budget of %d: split it, or move what it does not need", what, n, budgets[what])
		}
	}
}
