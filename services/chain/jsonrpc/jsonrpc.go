// Package jsonrpc is JSON-RPC 2.0 (jsonrpc.org/specification): calls, arrays of calls, their
// answers and errors, and a Server of methods over HTTP and WebSocket. Codec is the seam behind
// which messages are read and values written; Std and package scan implement it, and jsonrpctest
// checks that they agree. It reads I-JSON (RFC 7493): UTF-8, no escapes of half a surrogate pair,
// names that are unique in their object.
//
// It knows no method, is not for authentication, and does not listen: Server is an http.Handler.
// Server and Front own their goroutines, which Drain ends.
package jsonrpc

import "context"

// MaxDepth bounds how deep arrays and objects may be nested in a message; its own array and object
// count.
const MaxDepth = 64

// Method answers calls of one name. Params is an array or an object as the client sent it, or nil
// where the client sent none or null; it is valid until the method returns. A result is a value
// for JSON: a json.RawMessage must be valid JSON without white space between its tokens. An *Error
// is the answer's error; any other error has code -32000 and its text, as in go-ethereum.
type Method func(ctx context.Context, params []byte) (result any, err error)

// Call is a call and its answer. ID, Method and Params share memory with the message.
type Call struct {
	ID     []byte // JSON as received; nil: a notification, which has no answer
	Method []byte // without quotes and escapes
	Params []byte // JSON as received: an array or an object; nil: none
	Result any    // written where Error is nil
	Error  *Error // set by Decode where the call is not valid
}

// Batch is a message: one call, or an array of calls.
type Batch struct {
	Array bool
	Calls []Call
}

// Reset empties the batch and releases what it refers to.
func (b *Batch) Reset() {
	clear(b.Calls)
	b.Array, b.Calls = false, b.Calls[:0]
}

// Codec reads messages and writes answers. Its methods may be called from any goroutine.
type Codec interface {
	// Decode reads a message into an empty batch. An error is the answer to the whole message: it is
	// no JSON, or an array that is empty or has more than maxCalls elements, of which the batch then
	// has maxCalls. Elements that are not valid calls have Call.Error, and their id where it is valid,
	// else null.
	Decode(message []byte, maxCalls int, into *Batch) *Error
	// AppendValue appends a value as encoding/json writes it, but without escaping for HTML; a
	// json.Number may become a string. After an error, what is appended is undefined.
	AppendValue(to []byte, value any) ([]byte, error)
}
