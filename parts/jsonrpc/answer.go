package jsonrpc

import "strconv"

const (
	internal = "the result cannot be written as JSON"
	tooLarge = "the answers of the array are too large"
)

// AppendAnswers appends the answer to a batch, in the order of its calls. It appends nothing if
// all are notifications. An answer beyond maxBytes of answers is replaced by an error, as one is
// whose value cannot be written.
func AppendAnswers(c Codec, to []byte, b *Batch, maxBytes int) []byte {
	begin := len(to)
	for i := range b.Calls {
		call := &b.Calls[i]
		if call.ID == nil {
			continue
		}
		switch {
		case len(to) > begin:
			to = append(to, ',')
		case b.Array:
			to = append(to, '[')
		}
		at := len(to)
		to = appendAnswer(c, to, call)
		if len(to)-begin > maxBytes {
			call.Error = &Error{Code: TooLarge, Message: tooLarge}
			to = appendAnswer(c, to[:at], call)
		}
	}
	if b.Array && len(to) > begin {
		to = append(to, ']')
	}
	return to
}

// AppendError appends the answer to a message of which there is no batch.
func AppendError(c Codec, to []byte, e *Error) []byte {
	return appendAnswer(c, to, &Call{ID: null, Error: e})
}

// AppendRefusal appends the answer to a message for which Decode returned an error. Where an array
// has too many calls that is an array of one answer, with the id of the first call that has one, as
// in go-ethereum: its clients find no error elsewhere, and over WebSocket would wait for ever.
func AppendRefusal(c Codec, to []byte, b *Batch, e *Error) []byte {
	if e.Code == InvalidRequest && b.Array {
		for _, call := range b.Calls {
			if call.ID != nil {
				return append(appendAnswer(c, append(to, '['), &Call{ID: call.ID, Error: e}), ']')
			}
		}
	}
	return AppendError(c, to, e)
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

// AppendNotification appends what the server sends for a subscription.
func AppendNotification(c Codec, to []byte, name, subscription string, result any) ([]byte, error) {
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
