package jsonrpc

import (
	"errors"
	"fmt"
)

// Codes of errors: the specification's, section 5.1; Ethereum's of EIP-1474; go-ethereum's.
const (
	ParseError     = -32700 // the message is no JSON
	InvalidRequest = -32600 // the message is JSON and no call
	UnknownMethod  = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	ServerError    = -32000 // an error of a method that has no other code
	TimedOut       = -32002
	TooLarge       = -32003 // the answers of an array are too large
	LimitExceeded  = -32005
	Reverted       = 3 // a contract reverted; data is what it returned
)

// Error is the error of an answer.
type Error struct {
	Code    int
	Message string
	Data    any // nil: none
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns the answer's error for a method's error.
func AsError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Code: ServerError, Message: err.Error()}
}

// errTooLarge is the error of a call whose answer, with those before it, would be too large.
var errTooLarge = &Error{Code: TooLarge, Message: "the answers of the array are too large"}

// Errors that refuse a message or a call of it.
var (
	errEmpty     = &Error{Code: InvalidRequest, Message: "the array of calls is empty"}
	errNoObject  = &Error{Code: InvalidRequest, Message: "a call is a JSON object"}
	errDuplicate = &Error{Code: InvalidRequest, Message: "a name occurs twice in an object"}
	errVersion   = &Error{Code: InvalidRequest, Message: `jsonrpc must be "2.0"`}
	errMethod    = &Error{Code: InvalidRequest, Message: "method must be a string"}
	errID        = &Error{Code: InvalidRequest, Message: "id must be a string, a number or null"}
	errParams    = &Error{Code: InvalidParams, Message: "params must be an array or an object"}
)

// NoJSON refuses a message that is no JSON. Of why, which may quote the message, it keeps 200
// characters.
func NoJSON(why string) *Error {
	return Errorf(ParseError, "the message is not valid JSON: %.200s", why)
}
