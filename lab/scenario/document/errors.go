package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one fault of a scenario, with its position.
type Error struct {
	File         string
	Line, Column int    // from 1
	Field        string // load.classes[0].name; empty: the file as a whole
	Message      string // the value found and the value expected
}

// Error returns file:line:column: field: message.
func (e Error) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		at += e.Field + ": "
	}
	return at + e.Message
}

// Errors are all faults of a scenario, in the order of the file.
type Errors []Error

// A file with more errors than this is probably not a scenario.
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

// sorted puts the errors in the order of the file and keeps the first of several about one field
// at one position, so that a fault is reported once.
func (l Errors) sorted() Errors {
	slices.SortStableFunc(l, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
	})
	return slices.CompactFunc(l, func(a, b Error) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Field == b.Field
	})
}
