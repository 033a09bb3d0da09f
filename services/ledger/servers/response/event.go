package response

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Streams of events, by the names of the method subscribe.
const (
	Ledgers     = "ledger"      // a ledger was validated
	Validations = "validations" // a validator signed a validation of a ledger
)

// Event is a message of a subscription.
type Event struct {
	Stream       string // Ledgers or Validations
	Index        uint32 // of the ledger
	Hash         xrpl.Hash
	Transactions int         // of a ledger: number of transactions
	Complete     history.Set // of a ledger: the server's ranges; empty if not reported
	// Signed validation, for signing.ParseValidation; nil if the server does not send it.
	Validation []byte
}

type message struct {
	Type    string      `json:"type"`
	Error   string      `json:"error"`
	Code    json.Number `json:"error_code"`
	Message string      `json:"error_message"`
	Result  *closed     `json:"result"` // of the answer to the subscription

	closed
	// In validations, and only there, rippled writes an index as a string.
	Data string `json:"data"`
}

type closed struct {
	Index        index  `json:"ledger_index"`
	Hash         string `json:"ledger_hash"`
	Transactions int    `json:"txn_count"`
	Complete     string `json:"validated_ledgers"`
}

// index is a number, or a string of digits.
type index uint32

func (n *index) UnmarshalJSON(text []byte) error {
	v, err := parseIndex(strings.Trim(string(text), `"`))
	*n = index(v)
	return err
}

// DecodeEvent reads a message of a subscription, and returns its type. A message that belongs to no
// stream, such as the answer to a request, has no Stream.
func DecodeEvent(text []byte) (Event, string, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return Event{}, "", Errorf(Malformed, "reading an event: %v", err)
	}
	if m.Error != "" {
		return Event{}, "", fault{m.Error, m.Code.String(), m.Message}.err()
	}
	var e Event
	from := &m.closed
	switch {
	case m.Type == "ledgerClosed":
		e.Stream = Ledgers
	case m.Type == "validationReceived":
		e.Stream = Validations
	case m.Type == "response" && m.Result != nil && m.Result.Index > 0:
		e.Stream, from = Ledgers, m.Result
	default:
		return Event{}, m.Type, nil
	}
	var err error
	e.Index, e.Transactions = uint32(from.Index), from.Transactions
	if e.Hash, err = xrpl.ParseHash(from.Hash); err != nil {
		return Event{}, "", Errorf(Malformed, "an event's ledger_hash: %v", err)
	}
	if e.Stream == Validations {
		if e.Validation, err = hex.DecodeString(m.Data); err != nil {
			return Event{}, "", Errorf(Malformed, "a validation's data is not hex")
		}
	} else if e.Complete, err = history.ParseSet(from.Complete); err != nil {
		return Event{}, "", Errorf(Malformed, "an event's validated_ledgers: %.*s", maxMessage, err.Error())
	}
	return e, m.Type, nil
}
