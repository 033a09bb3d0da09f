package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// entry is a server of the suite and the truth about it.
type entry struct {
	Name   string   `json:"name"`
	Family string   `json:"family"`
	Truth  string   `json:"truth"` // the bound, by its name in a diagnosis
	Also   []string `json:"also"`  // further correct bounds: any of them may be named first
	Kind   string   `json:"kind"`  // more precise kind of a wait or a lock; empty: there is none
	// OrKind is another correct name of the kind: a pool that is handed out over a channel is
	// both.
	OrKind   string `json:"or_kind,omitempty"`
	Function string `json:"function"` // must be among the named places: the innermost function of this program on the path; empty: any
	InWords  string `json:"in_words"`

	Method    string `json:"method"`
	Path      string `json:"path"`
	BodyBytes int    `json:"body_bytes"` // size of a request's body, with any content
	Load      load   `json:"load"`
	Neighbour bool   `json:"neighbour"` // it must run beside `bounds --hog`
	// Invisible are the values of --inside under which the truth cannot be seen, so that unknown
	// is a correct verdict.
	Invisible []string `json:"invisible"`

	// Parameters are the ranges that the seed draws from, both ends included.
	Parameters map[string][2]int `json:"parameters"`

	// plan draws the parameters; its result starts the server.
	plan func(*draw) func() (*service, error)
}

// load holds the limits of the load under which the truth holds; zero values: none.
type load struct {
	Connections int     `json:"connections"` // at most
	MaxRate     float64 `json:"max_rate"`    // per second, at most
	ThinkMs     float64 `json:"think_ms"`    // each connection's pause after an answer
}

// service is a running server.
type service struct {
	handler http.Handler
	accept  func(net.Listener) net.Listener // nil: connections are accepted as they come
	// untraced disables the execution trace.
	untraced bool
	warning  string // why the truth may not hold here; empty: it holds
	close    func() // ends everything it started; call it once, after the last request
}

// serving returns a service with one page and nothing to end.
func serving(pattern string, page http.HandlerFunc) *service {
	return servingUntil(pattern, page, func() {})
}

// servingUntil returns a service with one page.
func servingUntil(pattern string, page http.HandlerFunc, end func()) *service {
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, page)
	return &service{handler: mux, close: end}
}

// suite is the list of all servers, by family.
var suite = []entry{
	fingerprints, catalogue, search, ranking,
	ledger, audit, visits, prices,
	orders, couriers, shop, calculator, printing, registry,
	forum, filters, sessions,
	journals, secretary, mailer, turnstile,
	site, copies,
	signedForum, vaults,
	gate, tickerTape, crowded, paced, thinking,
}

// list returns the suite with the ranges of its parameters.
func list() []entry {
	all := slices.Clone(suite)
	for i := range all {
		d := newDraw(0, all[i].Name)
		all[i].plan(d)
		all[i].Parameters = d.ranges
		all[i].Also = append([]string{}, all[i].Also...)
		all[i].Invisible = append([]string{}, all[i].Invisible...)
	}
	return all
}

// find returns the server of the given name.
func find(name string) (entry, error) {
	names := make([]string, len(suite))
	for i, e := range suite {
		if e.Name == name {
			return e, nil
		}
		names[i] = e.Name
	}
	return entry{}, fmt.Errorf("unknown server %q; the servers are %s", name, strings.Join(names, ", "))
}
