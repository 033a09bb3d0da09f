package dyno

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a reader holds in mind, in lines of product code: comments count, tests and generated code
// do not.
const (
	packageBudget = 1500
	fileBudget    = 400
	serviceBudget = 10_000
	plainBudget   = 800 // services/*/plain: what the ladder's load needs, and no more
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
		lines[dir], budgets[dir] = lines[dir]+n, packageBudget
		if plain, _ := path.Match("services/*/plain", dir); plain {
			budgets[dir] = plainBudget
		}
		if service, ok := serviceOf(dir); ok {
			lines[service], budgets[service] = lines[service]+n, serviceBudget
		}
	}
	for what, n := range lines {
		if n > budgets[what] {
			t.Errorf("%s has %d lines, over its budget of %d: split it, or move what it does not need", what, n, budgets[what])
		}
	}
}

// serviceOf returns the service whose product a package is, as "services/notify (all)". Its plain
// program, its companions, which play the other end of its connections (the servers that sim
// simulates, the receiver sink), and what only tests use have no part in the service's budget.
func serviceOf(dir string) (string, bool) {
	parts := strings.Split(dir, "/")
	if parts[0] != "services" || len(parts) < 2 {
		return "", false
	}
	aside := func(p string) bool {
		return p == "plain" || p == "sim" || p == "sink" || p == "soak" || strings.HasSuffix(p, "test")
	}
	return path.Join(parts[:2]...) + " (all)", !slices.ContainsFunc(parts[2:], aside)
}
