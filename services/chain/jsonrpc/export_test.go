package jsonrpc

// Bounds are a server's.
type Bounds = bounds

// What is written, for tests with each codec.
var (
	AppendNotification = appendNotification
	AppendRefusal      = appendRefusal
	AppendWholeError   = appendWholeError
)

// NewBounded is NewServer with other bounds.
func NewBounded(methods map[string]Method, o Options, change func(*Bounds)) *Server {
	b := standard
	change(&b)
	return newServer(methods, o, b)
}

// AppendAnswers appends the answer to a batch whose calls have all been made.
func AppendAnswers(c Codec, to []byte, b *Batch, maxBytes int) []byte {
	a := newAnswers(c, to, b.Array, maxBytes)
	for i := range b.Calls {
		a.add(&b.Calls[i])
	}
	return a.all()
}
