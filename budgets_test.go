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

// over lists what is over its budget, with the lines that it may have until it is split. A row may
// only shrink; one that is within the budget again must go.
var over = map[string]int{
	"agent":                      1527,
	"cmd/dyno":                   2352,
	"lab/capacity":               1910,
	"lab/diagnose":               1950,
	"lab/diagnose/findings":      2023,
	"lab/experiment":             4133,
	"lab/load":                   2128,
	"lab/load/raw":               2186,
	"lab/probe":                  2906,
	"lab/record":                 1929,
	"lab/report":                 1612,
	"lab/scenario":               2522,
	"parts/daemon":               2313,
	"parts/httploop":             1973,
	"parts/wal/segment":          1793,
	"parts/xrpl":                 2388,
	"services/ledger":            1730,
	"services/ledger (all)":      15923,
	"services/ledger/ledgertest": 1794,
	"services/ledger/rippled":    2032,
	"services/ledger/serve":      1716,
	"services/ledger/sim":        3210,
	"services/ledger/store":      3454,
	"services/notify (all)":      11647,
	"services/notify/journal":    1616,
	"services/notify/notifytest": 3091,
	"services/orders":            1933,
	"services/orders (all)":      12282,
	"services/orders/ordertest":  2744,
	"services/orders/postgres":   2334,
	"services/orders/store":      2204,
	"subjects/bounds":            1948,
}

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
		allowed, listed := over[what]
		switch {
		case n <= budgets[what] && listed:
			t.Errorf("%s has %d lines, within its budget of %d: take it out of the table in budgets_test.go", what, n, budgets[what])
		case n > budgets[what] && n > allowed:
			t.Errorf("%s has %d lines, over its budget of %d: split it, or move what it does not need", what, n, max(budgets[what], allowed))
		}
	}
	for what := range over {
		if lines[what] == 0 {
			t.Errorf("%s does not exist: take it out of the table in budgets_test.go", what)
		}
	}
}

// serviceOf returns the service whose product a package is, as "services/notify (all)". Its plain
// program, its simulator and what only tests use have no part in the service's budget.
func serviceOf(dir string) (string, bool) {
	parts := strings.Split(dir, "/")
	if parts[0] != "services" || len(parts) < 2 {
		return "", false
	}
	aside := func(p string) bool { return p == "plain" || p == "sim" || p == "soak" || strings.HasSuffix(p, "test") }
	return path.Join(parts[:2]...) + " (all)", !slices.ContainsFunc(parts[2:], aside)
}
