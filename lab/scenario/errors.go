package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a scenario, and where.
type Error struct {
	File         string
	Line, Column int    // from 1
	Field        string // load.classes[0].name; empty: the file as a whole
	Message      string // what was found and what was meant
}

// Error returns file:line:column: field: message.
func (e Error) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		at += e.Field + ": "
	}
	return at + e.Message
}

// Errors is everything wrong with a scenario, in the order of the file.
type Errors []Error

// Past this many errors, the file is not what it was taken for.
const (
	maxErrors   = 1000 // kept
	shownErrors = 50   // shown
)

// Error returns one line for each error.
func (l Errors) Error() string {
	lines := make([]string, 0, len(l))
	for i, e := range l {
		if i == shownErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more errors", e.File, len(l)-i))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors one by one, for errors.As.
func (l Errors) Unwrap() []error {
	out := make([]error, len(l))
	for i := range l {
		out[i] = l[i]
	}
	return out
}

// sorted puts the errors in the order of the file and keeps the first of those about one field at one
// position: what is wrong once is said once.
func (l Errors) sorted() Errors {
	slices.SortStableFunc(l, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	return slices.CompactFunc(l, func(a, b Error) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Field == b.Field
	})
}
