package rippled

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// Streams that may be subscribed to.
const (
	// Streams for Subscribe.
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
	// Signed validation, for xrpl.ParseValidation; nil if the server does not send it.
	Validation []byte
}

// Subscribe yields the events of streams over its own WebSocket connection, until ctx is done, the
// loop ends, or an error is yielded, which is the last: an *Error, or that of ctx. The first event
// of Ledgers is the last ledger validated before. After a new subscription the caller must request
// what it missed.
func (s *Server) Subscribe(ctx context.Context, streams ...string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := s.follow(ctx, streams, yield); err != nil {
			yield(Event{}, err)
		}
	}
}

func (s *Server) follow(ctx context.Context, streams []string, yield func(Event, error) bool) error {
	dial, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	client := dialler(s.config)
	if s.config.Client == nil {
		defer client.CloseIdleConnections()
	}
	l, err := s.open(dial, client, s.events)
	if err == nil {
		err = s.listen(ctx, l, streams, yield)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case dial.Err() != nil && l == nil:
		return &Error{Code: Timeout, Server: s.name, Err: fmt.Errorf("no connection within %v", s.config.Timeout)}
	}
	return s.asError(err, nil)
}

// listen yields the messages of a connection until the loop ends, and closes the connection.
func (s *Server) listen(ctx context.Context, l *line, streams []string, yield func(Event, error) bool) error {
	var pings sync.WaitGroup
	pings.Go(l.ping)
	defer pings.Wait()
	defer l.end(gone(errors.New("the subscription ended")))

	ask := request{method: "subscribe", streams: streams}
	question := append(ask.append([]byte(`{"id":1,"command":"subscribe",`)), '}')
	if err := l.conn.Write(ctx, websocket.MessageText, question); err != nil {
		return gone(err)
	}
	late := time.AfterFunc(s.config.Timeout, func() {
		l.end(errorf(Timeout, "no answer to a subscription within %v", s.config.Timeout))
	})
	defer late.Stop()
	for {
		b, err := l.message(ctx)
		if err != nil {
			l.end(err) // no effect if the ping or the time-out ended it before
			return l.why
		}
		e, kind, err := decodeEvent(b.bytes)
		b.release()
		switch {
		case err != nil:
			return err
		case kind == "response":
			late.Stop()
		}
		if e.Stream != "" && !yield(e, nil) {
			return nil
		}
	}
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

// decodeEvent reads a message. A message that belongs to no stream has no Stream.
func decodeEvent(text []byte) (Event, string, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return Event{}, "", errorf(Malformed, "reading an event: %v", err)
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
		return Event{}, "", errorf(Malformed, "an event's ledger_hash: %v", err)
	}
	if e.Stream == Validations {
		if e.Validation, err = hex.DecodeString(m.Data); err != nil {
			return Event{}, "", errorf(Malformed, "a validation's data is not hex")
		}
	} else if e.Complete, err = history.ParseSet(from.Complete); err != nil {
		return Event{}, "", errorf(Malformed, "an event's validated_ledgers: %.*s", maxMessage, err.Error())
	}
	return e, m.Type, nil
}
