// Package refusal is the errors with which notifyd refuses what a caller gave: a request, with the
// HTTP status of the answer and the field at fault; or a name that does not exist. It is not for
// failures of the service itself, and it writes no answer.
package refusal

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Error refuses a request.
type Error struct {
	Status int
	Field  string // of the notice or subscription; "" means none
	Text   string
}

func (e *Error) Error() string { return e.Text }

// New refuses a request as a whole.
func New(status int, format string, args ...any) *Error {
	return &Error{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Field refuses a request with 400 because of one field.
func Field(field, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Field: field, Text: fmt.Sprintf(format, args...)}
}

// Pick returns the implementation of a seam called name.
func Pick[T any](seam string, impls map[string]T, name string) (T, error) {
	impl, ok := impls[name]
	if !ok {
		return impl, fmt.Errorf("seam %s: nothing is called %q; there are %s", seam, name, strings.Join(slices.Sorted(maps.Keys(impls)), ", "))
	}
	return impl, nil
}
