package load

import (
	"fmt"
	"sync"
)

// Notes counts failures by kind and keeps the first of each kind, for the warnings of a run. It
// is safe for concurrent use.
type Notes struct {
	mu    sync.Mutex
	kinds []string
	count map[string]int
	first map[string]error
}

// Add counts a failure.
func (n *Notes) Add(kind string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count, n.first = map[string]int{}, map[string]error{}
	}
	if n.count[kind]++; n.first[kind] == nil {
		n.kinds, n.first[kind] = append(n.kinds, kind), err
	}
}

// Notes returns a line for each kind of failure.
func (n *Notes) Notes() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, kind := range n.kinds {
		out = append(out, fmt.Sprintf("%s: %d, the first: %v", kind, n.count[kind], n.first[kind]))
	}
	return out
}

// Noting is a Driver that reports failures which no count in the totals shows.
type Noting interface{ Notes() []string }

// Negotiating is a Driver that learns from answers which protocol it speaks with the target.
type Negotiating interface {
	// Protocol returns the protocol of the connection to the target, as in "HTTP/1.1" or "HTTP/2
	// over TLS 1.3". It is empty if there was no answer.
	Protocol() string
}
