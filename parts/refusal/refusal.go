// Package refusal is the errors with which a service refuses what a caller gave: a request, with
// the HTTP status of the answer and the field at fault; or a name that does not exist, with the
// likeliest one that does.
//
// It is not for failures of the service itself, and it writes no answer: the form of an answer is
// the service's own. It starts no goroutines.
package refusal

import (
	"fmt"
	"net/http"
)

// Error refuses a request.
type Error struct {
	Status int    // of HTTP
	Field  string // the one at fault, as the caller knows it; "" where no single one is
	Text   string // what is wrong and how to fix it, for the answer
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
