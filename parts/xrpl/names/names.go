// Package names knows what the XRP Ledger calls the fields of its binary format, its transactions, the entries of its
// state and the results of transactions. It is a table and no more: what values look like is parts/xrpl's.
package names

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed names.txt
var text string

// fields are by type and code, each below 256 in the binary format.
var (
	fields       [256][256]string
	transactions = map[int]string{}
	entries      = map[int]string{}
	results      = map[int]string{}
)

func init() {
	for line := range strings.Lines(text) {
		if line[0] == '#' {
			continue
		}
		var kind, number, name string
		var n, code int
		if _, err := fmt.Sscan(line, &kind, &number, &name); err != nil {
			panic(fmt.Sprintf("names.txt: %q: %v", line, err))
		}
		if _, err := fmt.Sscanf(number, "%d.%d", &n, &code); err != nil && kind == "field" {
			panic(fmt.Sprintf("names.txt: %q: %v", line, err))
		}
		switch kind {
		case "field":
			fields[n][code] = name
		case "transaction":
			transactions[n] = name
		case "entry":
			entries[n] = name
		case "result":
			results[n] = name
		}
	}
}

// Field is the name of a field by its type and code; "" is for one that this program does not know.
func Field(kind, code int) string {
	if kind < 0 || kind > 255 || code < 0 || code > 255 {
		return ""
	}
	return fields[kind][code]
}

// Transaction is the name of a type of transactions; "" is for one that this program does not know.
func Transaction(kind int) string { return transactions[kind] }

// Entry is the name of a type of entries in the ledger's state; "" is for one that this program does not know.
func Entry(kind int) string { return entries[kind] }

// Result is the name of a transaction's result; "" is for one that this program does not know.
func Result(code int) string { return results[code] }
