package serve

import (
	"context"
	"errors"

	"dyno/services/ledger/store"
)

type fault struct {
	token   string // such as "lgrNotFound"
	code    int
	message string
	status  int // for GET; a POST is answered with 200, as rippled does

	// For a transaction that was not found: whether all of the requested range is stored.
	searchedAll *bool
}

func (f *fault) Error() string { return f.message }

func (f fault) saying(message string) *fault {
	f.message = message
	return &f
}

// rippled's errors, with its messages and its codes, which it promises not to change.
var (
	errNoPermission    = &fault{token: "noPermission", code: 6, message: "You don't have permission for this command.", status: 403}
	errTooBusy         = &fault{token: "tooBusy", code: 9, message: "The server is too busy to help you now.", status: 503}
	errNotEnabled      = &fault{token: "notEnabled", code: 12, message: "Not enabled in configuration.", status: 501}
	errNoClosed        = &fault{token: "noClosed", code: 15, message: "Closed ledger is unavailable.", status: 404}
	errNoCurrent       = &fault{token: "noCurrent", code: 16, message: "Current ledger is unavailable.", status: 404}
	errNoNetwork       = &fault{token: "noNetwork", code: 17, message: "InsufficientNetworkMode", status: 503}
	errNotSynced       = &fault{token: "notSynced", code: 18, message: "notSynced", status: 503}
	errLedgerNotFound  = &fault{token: "lgrNotFound", code: 21, message: "ledgerNotFound", status: 404}
	errNotValidated    = &fault{token: "lgrNotValidated", code: 22, message: "Ledger not validated.", status: 404}
	errNoTransaction   = &fault{token: "txnNotFound", code: 29, message: "Transaction not found.", status: 404}
	errInvalidParams   = &fault{token: "invalidParams", code: 31, message: "Invalid parameters.", status: 400}
	errUnknownMethod   = &fault{token: "unknownCmd", code: 32, message: "Unknown method.", status: 404}
	errAccount         = &fault{token: "actMalformed", code: 35, message: "Account malformed.", status: 400}
	errIndexesInvalid  = &fault{token: "lgrIdxsInvalid", code: 57, message: "Ledger indexes invalid.", status: 400}
	errIndexMalformed  = &fault{token: "lgrIdxMalformed", code: 58, message: "Ledger index malformed.", status: 400}
	errInternal        = &fault{token: "internal", code: 73, message: "Internal error.", status: 500}
	errNotImplemented  = &fault{token: "notImpl", code: 74, message: "Not implemented.", status: 400}
	errNotSupported    = &fault{token: "notSupported", code: 75, message: "Operation not supported.", status: 400}
	errExcessiveRange  = &fault{token: "excessiveLgrRange", code: 78, message: "Ledger range exceeds 1000.", status: 400}
	errInvalidRange    = &fault{token: "invalidLgrRange", code: 79, message: "Ledger range is invalid.", status: 400}
	errOnlyByHash      = errNotSupported.saying(`This server finds transactions by their hash only: give "transaction" instead of "ctid".`)
	errNoAccounts      = errNotEnabled.saying("This store has no index by account: start serve with --set accounts=on, which makes it.")
	errLedgerTwice     = errInvalidParams.saying("Exactly one of 'ledger_hash' or 'ledger_index' can be specified.")
	errHashNotText     = errInvalidParams.saying("ledgerHashNotString")
	errHashMalformed   = errInvalidParams.saying("ledgerHashMalformed")
	errIndexUnreadable = errInvalidParams.saying("ledgerIndexMalformed")
)

func errMissing(field string) *fault {
	return errInvalidParams.saying("Missing field '" + field + "'.")
}

func errField(field string) *fault { return errInvalidParams.saying("Invalid field '" + field + "'.") }

func errNot(field, kind string) *fault {
	return errInvalidParams.saying("Invalid field '" + field + "', not " + kind + ".")
}

// explain returns the fault for an error: missing is the one for store.ErrMissing.
func explain(err error, missing *fault) *fault {
	var f *fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, store.ErrMissing):
		return missing
	case errors.Is(err, store.ErrNoAccounts):
		return errNoAccounts
	case errors.Is(err, store.ErrLacking):
		return errNotSynced.saying("The index by account is being built and does not have all requested ledgers yet.")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrClosed):
		return errTooBusy
	}
	return errInternal
}
