package jsonrpc

// Bounds are a server's.
type Bounds = bounds

// NewBounded is NewServer with other bounds.
func NewBounded(methods map[string]Method, o Options, change func(*Bounds)) *Server {
	b := standard
	change(&b)
	return newServer(methods, o, b)
}
