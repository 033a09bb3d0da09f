package xrpl

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed names.txt
var namesText string

// fieldNames by type and code, each below 256 in the binary format.
var (
	fieldNames       [256][256]string
	transactionNames = map[int]string{}
	entryNames       = map[int]string{}
	resultNames      = map[int]string{}
)

func init() {
	for line := range strings.Lines(namesText) {
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
			fieldNames[n][code] = name
		case "transaction":
			transactionNames[n] = name
		case "entry":
			entryNames[n] = name
		case "result":
			resultNames[n] = name
		}
	}
}

// FieldName returns the name of a field by its type and code; "" if this program does not know it.
func FieldName(kind, code int) string {
	if kind < 0 || kind > 255 || code < 0 || code > 255 {
		return ""
	}
	return fieldNames[kind][code]
}

// TransactionName returns the name of a transaction type; "" if this program does not know it.
func TransactionName(kind int) string { return transactionNames[kind] }

// EntryName returns the name of a state entry type; "" if this program does not know it.
func EntryName(kind int) string { return entryNames[kind] }

// ResultName returns the name of a transaction result; "" if this program does not know it.
func ResultName(code int) string { return resultNames[code] }
