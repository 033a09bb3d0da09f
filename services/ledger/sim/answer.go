package sim

import (
	"encoding/json"
	"net/http"
	"time"

	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl/answer"
)

// delivery is an answer and the way to send it. Its pieces in order are the body.
type delivery struct {
	status             int    // of HTTP; 0: 200
	text               string // not JSON: text/plain over HTTP
	head, middle, tail []byte

	wait   time.Duration // before sending
	act    act
	fault  fault.Kind // counted when sent; "": none
	number uint32     // index of the requested ledger
	warned bool
	keep   *[]byte // buffer to return to the pool after sending; nil: none
}

type act int

const (
	send act = iota
	cutOff
	stayQuiet
	hangUp // as for a client over the limit
)

func (a *delivery) size() int { return len(a.head) + len(a.middle) + len(a.tail) }

// unsynced is the error of a server that has lost the network. Version 2 of the API renamed it.
func unsynced(version int) *answer.Error {
	if version == 1 {
		return answer.ErrNoNetwork
	}
	return answer.ErrNotSynced
}

// members are a result without its braces, in three pieces; the middle one is not copied.
type members struct{ head, middle, tail []byte }

// Server software that can be simulated.
const (
	Rippled = "rippled"
	Clio    = "clio"
)

const (
	clioWarning = `{"id":2001,"message":"This is a clio server. clio only serves validated data. If you want to talk to rippled, include 'ledger_index':'current' in your request"}`
	loadWarning = `{"id":2003,"message":"You are about to be rate limited"}`
)

// envelope adds to an answer's members what the transport and the software put around them.
type envelope struct {
	clio   bool
	socket bool
	id     json.RawMessage
	api    *int
	// warn receives the body's size without the warning, and returns whether to add it.
	warn func(bytes int) bool
}

func (s *Sim) envelope(r *request, warn func(int) bool) envelope {
	return envelope{clio: s.config.Software == Clio, socket: r.socket != nil, id: r.ID, api: r.APIVersion, warn: warn}
}

func (e envelope) success(m members) *delivery {
	a := &delivery{middle: m.middle}
	a.head = append(make([]byte, 0, len(m.head)+64), '{')
	if e.socket && !e.clio {
		a.head = e.request(a.head)
	}
	a.head = append(append(a.head, `"result":{`...), m.head...)
	a.tail = m.tail
	if e.socket {
		a.tail = append(a.tail, '}')
		if e.clio {
			a.tail = e.request(append(a.tail, ','))
			a.tail = a.tail[:len(a.tail)-1]
		}
		a.tail = append(a.tail, `,"status":"success","type":"response"`...)
	} else {
		if len(m.head) > 0 {
			a.tail = append(a.tail, ',')
		}
		a.tail = append(a.tail, `"status":"success"`...)
	}
	return e.close(a, !e.socket)
}

// request appends the parts of a request that are repeated, each member followed by a comma.
func (e envelope) request(b []byte) []byte {
	if e.api != nil {
		b = append(appendIndex(append(b, `"api_version":`...), uint32(*e.api)), ',')
	}
	if len(e.id) > 0 {
		b = append(append(append(b, `"id":`...), e.id...), ',')
	}
	return b
}

// fail wraps an error. raw is the request, which the error repeats.
func (e envelope) fail(f *answer.Error, raw []byte) *delivery {
	b := []byte{'{'}
	if !e.socket {
		b = append(b, `"result":{`...)
	}
	b = appendError(b, f)
	if e.socket || e.clio {
		b = append(b, `"type":"response",`...)
	}
	if e.socket || e.clio {
		b = e.request(b)
	}
	b = append(append(b, `"request":`...), raw...)
	return e.close(&delivery{head: b}, !e.socket)
}

// appendError appends an error's members, each followed by a comma.
func appendError(b []byte, f *answer.Error) []byte {
	b = append(append(b, `"error":"`...), f.Token...)
	b = appendIndex(append(b, `","error_code":`...), uint32(f.Code))
	b = append(append(b, `,"error_message":`...), quote(f.Message)...)
	return append(b, `,"status":"error",`...)
}

// close ends the objects and puts warnings where the software puts them. inside says that the
// result is still open.
func (e envelope) close(a *delivery, inside bool) *delivery {
	const slack = len(`,"warnings":[]}` + clioWarning) // Clio adds this in any case
	a.warned = e.warn != nil && e.warn(a.size()+slack)
	if e.clio {
		if inside {
			a.tail = append(a.tail, '}')
		}
		a.tail = append(append(a.tail, `,"warnings":[`...), clioWarning...)
		if a.warned {
			a.tail = append(append(a.tail, ','), loadWarning...)
		}
		a.tail = append(a.tail, ']')
		inside = false
	}
	if a.warned {
		a.tail = append(a.tail, `,"warning":"load"`...)
	}
	if inside {
		a.tail = append(a.tail, '}')
	}
	a.tail = append(a.tail, '}', '\n')
	return a
}

// overLimit is the answer to a request over the limit. Clio's over HTTP is a bare 503.
func (e envelope) overLimit(raw []byte) *delivery {
	switch {
	case !e.clio:
		return &delivery{status: http.StatusServiceUnavailable, text: "Server is overloaded", act: hangUp}
	case !e.socket:
		b := appendError([]byte{'{'}, answer.ErrSlowDown)
		return &delivery{status: http.StatusServiceUnavailable, text: string(append(b, `"type":"response"}`...))}
	}
	b := e.request(appendError([]byte{'{'}, answer.ErrSlowDown))
	return &delivery{head: append(append(append(b, `"type":"response","request":`...), raw...), '}')}
}

func quote(text string) []byte {
	b, _ := json.Marshal(text) // strings never fail
	return b
}
