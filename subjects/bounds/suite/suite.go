// Package suite describes servers of known bottleneck: the truth about each, the parameters that a
// seed draws, and how it starts.
//
// It is not for the servers themselves, nor for judging a diagnosis. It starts no goroutines.
package suite

import (
	"net"
	"net/http"
)

// Entry is a server of the suite and the truth about it.
type Entry struct {
	Name   string   `json:"name"`
	Family string   `json:"family"`
	Truth  string   `json:"truth"` // the bound, by its name in a diagnosis
	Also   []string `json:"also"`  // further correct bounds: any of them may be named first
	Kind   string   `json:"kind"`  // more precise kind of a wait or a lock; empty: there is none
	// Runtime is the command that runs it, where Go did not build it; empty: it is part of this
	// program.
	Runtime string `json:"runtime,omitempty"`
	// OrKind is another correct name of the kind: a pool that is handed out over a channel is
	// both.
	OrKind   string `json:"or_kind,omitempty"`
	Function string `json:"function"` // must be among the named places: the innermost function of this program on the path; empty: any
	InWords  string `json:"in_words"`

	Method    string `json:"method"`
	Path      string `json:"path"`
	BodyBytes int    `json:"body_bytes"` // size of a request's body, with any content
	Load      Load   `json:"load"`
	Neighbour bool   `json:"neighbour"` // it must run beside `bounds --hog`
	// Invisible are the values of --inside under which the truth cannot be seen, so that unknown
	// is a correct verdict.
	Invisible []string `json:"invisible"`

	// Remedies are changes of parameters that take a known part of the bound away.
	Remedies []Remedy `json:"remedies,omitempty"`

	// Parameters are the ranges that the seed draws from, both ends included.
	Parameters map[string][2]int `json:"parameters"`

	// Plan draws the parameters; its result starts the server.
	Plan func(*Draw) func() (*Service, error) `json:"-"`
}

// Load holds the limits of the load under which the truth holds; zero values: none.
type Load struct {
	Connections int     `json:"connections"` // at most
	MaxRate     float64 `json:"max_rate"`    // per second, at most
	ThinkMs     float64 `json:"think_ms"`    // each connection's pause after an answer
}

// Remedy is a change that takes a known part of a server's bound away.
type Remedy struct {
	InWords string             `json:"in_words"`
	Scale   map[string]float64 `json:"scale"` // factors of the parameters
	// Shares of a request's demand that go: of the bound (the lock's holding, a pool's connections),
	// of the CPU time in Compute, of the CPU time of the process that it calls.
	Bound    float64 `json:"bound,omitempty"`
	CPU      float64 `json:"cpu,omitempty"`
	Compute  string  `json:"compute,omitempty"`
	Receiver float64 `json:"receiver,omitempty"`
}

// Service is a running server.
type Service struct {
	Handler http.Handler
	Accept  func(net.Listener) net.Listener // nil: connections are accepted as they come
	Serve   func(net.Listener) error        // instead of net/http with Handler, until the listener closes; nil: net/http
	// Untraced disables the execution trace.
	Untraced bool
	Warning  string // why the truth may not hold here; empty: it holds
	Close    func() // ends everything it started; call it once, after the last request
}

// Serving returns a service with one page and nothing to end.
func Serving(pattern string, page http.HandlerFunc) *Service {
	return ServingUntil(pattern, page, func() {})
}

// ServingUntil returns a service with one page.
func ServingUntil(pattern string, page http.HandlerFunc, end func()) *Service {
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, page)
	return &Service{Handler: mux, Close: end}
}
