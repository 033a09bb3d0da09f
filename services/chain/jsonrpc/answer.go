package jsonrpc

import "strconv"

const internal = "the result cannot be written as JSON"

// answers collects the answer to a batch, call by call, in their order. It is empty if all are
// notifications.
type answers struct {
	codec Codec
	to    []byte
	begin int
	max   int // bytes
	array bool
	full  bool // an answer was replaced because it was too large
}

// newAnswers returns the answer to a batch without calls so far, which is appended to the given
// bytes. An answer beyond maxBytes of answers is replaced by an error, as one is whose value cannot
// be written.
func newAnswers(c Codec, to []byte, array bool, maxBytes int) answers {
	return answers{codec: c, to: to, begin: len(to), max: maxBytes, array: array}
}

// add appends the answer to a call, and releases its result.
func (a *answers) add(call *Call) {
	if call.ID == nil {
		call.Result = nil
		return
	}
	switch {
	case len(a.to) > a.begin:
		a.to = append(a.to, ',')
	case a.array:
		a.to = append(a.to, '[')
	}
	at := len(a.to)
	a.to = appendAnswer(a.codec, a.to, call)
	if len(a.to)-a.begin > a.max {
		a.full = true
		call.Error = errTooLarge
		a.to = appendAnswer(a.codec, a.to[:at], call)
	}
	call.Result = nil
}

// size returns the number of bytes so far.
func (a *answers) size() int { return len(a.to) - a.begin }

// all returns the whole. Nothing can be added after it.
func (a *answers) all() []byte {
	if a.array && len(a.to) > a.begin {
		a.to = append(a.to, ']')
	}
	return a.to
}

// appendWholeError appends the answer to a message of which there is no batch.
func appendWholeError(c Codec, to []byte, e *Error) []byte {
	return appendAnswer(c, to, &Call{ID: null, Error: e})
}

// appendRefusal appends the answer to a message for which Decode returned an error. Where an array
// has too many calls that is an array of one answer, with the id of the first call that has one, as
// in go-ethereum: its clients find no error elsewhere, and over WebSocket would wait for ever.
func appendRefusal(c Codec, to []byte, b *Batch, e *Error) []byte {
	if e.Code == InvalidRequest && b.Array {
		for _, call := range b.Calls {
			if call.ID != nil {
				return append(appendAnswer(c, append(to, '['), &Call{ID: call.ID, Error: e}), ']')
			}
		}
	}
	return appendWholeError(c, to, e)
}

func appendAnswer(c Codec, to []byte, call *Call) []byte {
	to = append(to, `{"jsonrpc":"2.0","id":`...)
	to = append(to, call.ID...)
	begin := len(to)
	var err error
	if call.Error == nil {
		to, err = c.AppendValue(append(to, `,"result":`...), call.Result)
	} else {
		to, err = appendError(c, append(to, `,"error":`...), call.Error)
	}
	if err != nil {
		call.Error = &Error{Code: InternalError, Message: internal}
		to, _ = appendError(c, append(to[:begin], `,"error":`...), call.Error)
	}
	return append(to, '}')
}

func appendError(c Codec, to []byte, e *Error) (_ []byte, err error) {
	to = append(to, `{"code":`...)
	to = strconv.AppendInt(to, int64(e.Code), 10)
	if to, err = c.AppendValue(append(to, `,"message":`...), e.Message); err != nil {
		return to, err
	}
	if e.Data != nil {
		if to, err = c.AppendValue(append(to, `,"data":`...), e.Data); err != nil {
			return to, err
		}
	}
	return append(to, '}'), nil
}

// appendNotification appends what the server sends for a subscription.
func appendNotification(c Codec, to []byte, name, subscription string, result any) ([]byte, error) {
	to, err := c.AppendValue(append(to, `{"jsonrpc":"2.0","method":`...), name)
	if err != nil {
		return to, err
	}
	to = append(to, `,"params":{"subscription":"`...)
	to = append(to, subscription...)
	if to, err = c.AppendValue(append(to, `","result":`...), result); err != nil {
		return to, err
	}
	return append(to, `}}`...), nil
}
