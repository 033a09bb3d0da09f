package rippled

import (
	"context"
	"iter"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// Streams that may be subscribed to.
const (
	Ledgers     = "ledger"      // a ledger was validated
	Validations = "validations" // a validator says that it validated a ledger
)

// Event is what a subscription brings.
type Event struct {
	Stream       string // Ledgers or Validations
	Index        uint32 // of the ledger
	Hash         xrpl.Hash
	Transactions int         // of a ledger: how many it has
	Complete     history.Set // of a ledger: what the server has; empty where it does not say
	Validation   []byte      // of a validation: as it was signed, for xrpl.ParseValidation; nil where the server does not say
}

// Subscribe yields what happens on streams, over a WebSocket connection of its own, until ctx is done, the loop is
// left, or an error is yielded, which is the last: *Trouble, or that of ctx. Who subscribes again has to ask for what
// was missed.
func (s *Server) Subscribe(ctx context.Context, streams ...string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := s.follow(ctx, streams, yield); err != nil {
			yield(Event{}, err)
		}
	}
}
