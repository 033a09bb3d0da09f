// Package names maps the numbers of the XRP Ledger's binary format to names: fields, transaction
// types, entry types and transaction results. It is only a table: services/ledger/xrpl decodes
// values.
package names

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed names.txt
var text string

// fields by type and code, each below 256 in the binary format.
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

// Field returns the name of a field by its type and code; "" if this program does not know it.
func Field(kind, code int) string {
	if kind < 0 || kind > 255 || code < 0 || code > 255 {
		return ""
	}
	return fields[kind][code]
}

// Transaction returns the name of a transaction type; "" if this program does not know it.
func Transaction(kind int) string { return transactions[kind] }

// Entry returns the name of a state entry type; "" if this program does not know it.
func Entry(kind int) string { return entries[kind] }

// Result returns the name of a transaction result; "" if this program does not know it.
func Result(code int) string { return results[code] }
