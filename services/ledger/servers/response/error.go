package response

import (
	"errors"
	"fmt"
	"time"
)

// Code is the kind of an Error.
type Code uint8

const (
	// SlowDown: the client asked for more than the server allows it (slowDown, HTTP 503 "Server is
	// overloaded" or 429, WebSocket close 1008).
	SlowDown Code = iota + 1
	// Busy: the server is overloaded, whichever client asks (tooBusy, HTTP 5xx).
	Busy
	// NotFound: the server does not have the ledger (lgrNotFound).
	NotFound
	// NotSynced: the server has no network state (noNetwork, notSynced, noCurrent, notReady...).
	NotSynced
	// NotValidated: the ledger is not validated, or not closed.
	NotValidated
	// Cut: the answer ended early.
	Cut
	// Timeout: no whole answer came within the client's time limit.
	Timeout
	// Gone: there is no connection, or it broke before an answer came.
	Gone
	// Malformed: the answer is not one of a rippled or Clio, or is larger than the client accepts.
	Malformed
	// Empty: the answer reports success without a result.
	Empty
	// Refused: the server refuses for another reason (forbidden, unknownCmd, HTTP 4xx).
	Refused
)

var codeNames = [...]string{
	SlowDown: "slow down", Busy: "busy", NotFound: "not found", NotSynced: "not synced", NotValidated: "not validated",
	Cut: "cut", Timeout: "timeout", Gone: "gone", Malformed: "malformed", Empty: "empty", Refused: "refused",
}

func (c Code) String() string {
	if int(c) < len(codeNames) && codeNames[c] != "" {
		return codeNames[c]
	}
	return fmt.Sprintf("Code(%d)", uint8(c))
}

// Error is the reason why a request got no answer.
type Error struct {
	Code       Code
	Server     string        // name of the server; "": not known
	RetryAfter time.Duration // wait that the server asked for, or until the next dial; 0: none
	Err        error
}

func (e *Error) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("%v: %v", e.Code, e.Err)
	}
	return fmt.Sprintf("%s: %v: %v", e.Server, e.Code, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the Code of the *Error in err, 0 if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Errorf makes an Error without a Server.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}
