package answer

// Error is one of rippled's errors, with its message and its code, which rippled promises not to
// change.
type Error struct {
	Token   string // such as "lgrNotFound"
	Code    int
	Message string
	Status  int // of HTTP, where a server answers with one; rippled itself answers with 200

	// For a transaction that was not found: whether all of the requested range was searched.
	SearchedAll *bool
}

func (e *Error) Error() string { return e.Message }

// Saying is the error with another message.
func (e Error) Saying(message string) *Error {
	e.Message = message
	return &e
}

// Members are the error's members in an answer.
func (e *Error) Members() map[string]any {
	m := map[string]any{"error": e.Token, "error_code": e.Code, "error_message": e.Message}
	if e.SearchedAll != nil {
		m["searched_all"] = *e.SearchedAll
	}
	return m
}

// The errors. Source: XRPLF/rippled, libxrpl/protocol/ErrorCodes.cpp; for ledgers
// rpc/detail/RPCLedgerHelpers.
var (
	ErrWrongNetwork    = &Error{Token: "wrongNetwork", Code: 4, Message: "Wrong network.", Status: 400}
	ErrNoPermission    = &Error{Token: "noPermission", Code: 6, Message: "You don't have permission for this command.", Status: 403}
	ErrTooBusy         = &Error{Token: "tooBusy", Code: 9, Message: "The server is too busy to help you now.", Status: 503}
	ErrSlowDown        = &Error{Token: "slowDown", Code: 10, Message: "You are placing too much load on the server.", Status: 503}
	ErrNotEnabled      = &Error{Token: "notEnabled", Code: 12, Message: "Not enabled in configuration.", Status: 501}
	ErrNoClosed        = &Error{Token: "noClosed", Code: 15, Message: "Closed ledger is unavailable.", Status: 404}
	ErrNoCurrent       = &Error{Token: "noCurrent", Code: 16, Message: "Current ledger is unavailable.", Status: 404}
	ErrNoNetwork       = &Error{Token: "noNetwork", Code: 17, Message: "InsufficientNetworkMode", Status: 503}
	ErrNotSynced       = &Error{Token: "notSynced", Code: 18, Message: "notSynced", Status: 503}
	ErrLedgerNotFound  = &Error{Token: "lgrNotFound", Code: 21, Message: "ledgerNotFound", Status: 404}
	ErrNotValidated    = &Error{Token: "lgrNotValidated", Code: 22, Message: "Ledger not validated.", Status: 404}
	ErrNoTransaction   = &Error{Token: "txnNotFound", Code: 29, Message: "Transaction not found.", Status: 404}
	ErrInvalidParams   = &Error{Token: "invalidParams", Code: 31, Message: "Invalid parameters.", Status: 400}
	ErrUnknownMethod   = &Error{Token: "unknownCmd", Code: 32, Message: "Unknown method.", Status: 404}
	ErrAccount         = &Error{Token: "actMalformed", Code: 35, Message: "Account malformed.", Status: 400}
	ErrIndexesInvalid  = &Error{Token: "lgrIdxsInvalid", Code: 57, Message: "Ledger indexes invalid.", Status: 400}
	ErrIndexMalformed  = &Error{Token: "lgrIdxMalformed", Code: 58, Message: "Ledger index malformed.", Status: 400}
	ErrStream          = &Error{Token: "malformedStream", Code: 71, Message: "Stream malformed.", Status: 400}
	ErrInternal        = &Error{Token: "internal", Code: 73, Message: "Internal error.", Status: 500}
	ErrNotImplemented  = &Error{Token: "notImpl", Code: 74, Message: "Not implemented.", Status: 400}
	ErrNotSupported    = &Error{Token: "notSupported", Code: 75, Message: "Operation not supported.", Status: 400}
	ErrExcessiveRange  = &Error{Token: "excessiveLgrRange", Code: 78, Message: "Ledger range exceeds 1000.", Status: 400}
	ErrInvalidRange    = &Error{Token: "invalidLgrRange", Code: 79, Message: "Ledger range is invalid.", Status: 400}
	ErrHashMalformed   = ErrInvalidParams.Saying("ledgerHashMalformed")
	ErrHashNotText     = ErrInvalidParams.Saying("ledgerHashNotString")
	ErrIndexUnreadable = ErrInvalidParams.Saying("ledgerIndexMalformed")
)
