package serve

import (
	"context"
	"errors"

	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl/answer"
)

// Errors of this server, beside rippled's own.
var (
	errOnlyByHash  = answer.ErrNotSupported.Saying(`This server finds transactions by their hash only, since it does not know its network (--network-id): give "transaction" instead of "ctid".`)
	errNoAccounts  = answer.ErrNotEnabled.Saying("This store has no index by account: start serve with --set accounts=true, which makes it.")
	errLedgerTwice = answer.ErrInvalidParams.Saying("Exactly one of 'ledger_hash' or 'ledger_index' can be specified.")
)

func errMissing(field string) *answer.Error {
	return answer.ErrInvalidParams.Saying("Missing field '" + field + "'.")
}

func errField(field string) *answer.Error {
	return answer.ErrInvalidParams.Saying("Invalid field '" + field + "'.")
}

func errNot(field, kind string) *answer.Error {
	return answer.ErrInvalidParams.Saying("Invalid field '" + field + "', not " + kind + ".")
}

// explain returns rippled's error for an error: missing is the one for store.ErrMissing.
func explain(err error, missing *answer.Error) *answer.Error {
	var f *answer.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, store.ErrMissing):
		return missing
	case errors.Is(err, store.ErrNoAccounts):
		return errNoAccounts
	case errors.Is(err, store.ErrLacking):
		return answer.ErrNotSynced.Saying("The index by account is being built and does not have all requested ledgers yet.")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrClosed):
		return answer.ErrTooBusy
	}
	return answer.ErrInternal
}
