package corpus

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"dyno/lab/workload"
)

// Corpus holds the prebuilt requests that a driver sends in turn, over and over or each once.
// Weights, key distributions and templates are resolved when it is built, so that encoding costs
// nothing during the load.
type Corpus struct {
	Requests []Request
	Classes  []Class // indexed by Request.Class; there is at least one
	// Units is the number of units of work in each request, such as the calls of a JSON-RPC
	// batch. 0: 1.
	Units int
	// Supply, if it is set, makes drivers send each request at most once; nil: they send the
	// requests in turn, over and over.
	Supply *Supply
	// Accepted, if it is set, receives the answer to each request of which at least one unit
	// succeeded, before the request counts as answered. The driver's sending goroutines call it,
	// and it must not keep the answer.
	Accepted func(seq uint64, answer []byte)

	next        atomic.Uint64 // number of requests taken, without a Supply
	first, step uint64        // see Share; a step of 0 is 1
}

// Supply counts the requests that Take has returned, so that no two drives of one target send the
// same request. The zero Supply has counted none.
type Supply struct{ taken atomic.Int64 }

// Take returns the index of the next request, in order. With a Supply, ok is false once every
// request was taken.
func (c *Corpus) Take() (index int, ok bool) {
	if c.Supply == nil {
		turn := c.first + (c.next.Add(1)-1)*max(c.step, 1)
		return int(turn % uint64(len(c.Requests))), true
	}
	i := c.Supply.taken.Add(1) - 1
	return int(i), i < int64(len(c.Requests))
}

// Share makes Take return every n-th request, beginning with the k-th (from 0), for the k-th of n
// processes that share a load. It is called between drives, never during one.
func (c *Corpus) Share(k, n int) { c.first, c.step = uint64(k), uint64(n) }

// Left returns the number of requests that Take can still return.
func (c *Corpus) Left() int64 {
	if c.Supply == nil {
		return math.MaxInt64
	}
	return max(0, int64(len(c.Requests))-c.Supply.taken.Load())
}

// Size returns about how many bytes of memory the requests take.
func (c *Corpus) Size() (n int) {
	const each = 200 // bytes of a request without its texts
	for i := range c.Requests {
		r := &c.Requests[i]
		n += each + len(r.Body) + len(r.Path)
		for name, values := range r.Header {
			n += len(name)
			for _, value := range values {
				n += len(value)
			}
		}
	}
	return n
}

// Request is one prebuilt request.
type Request struct {
	Method string
	Path   string // origin form: path and query
	Header http.Header
	Body   []byte
	IDs    []int // offsets in Body of IDLength bytes that hold the request's sequence number
	Class  uint8
}

// Prepare compiles the checks. It returns an error if the corpus is nil or empty, or if its
// requests and classes do not fit together.
func (c *Corpus) Prepare() error {
	if c == nil || len(c.Requests) == 0 || len(c.Classes) == 0 {
		return errors.New("the corpus is empty: it needs at least one request and one class")
	}
	c.Units = max(c.Units, 1)
	for i := range c.Classes {
		if err := c.Classes[i].Check.Compile(); err != nil {
			return err
		}
	}
	for i, r := range c.Requests {
		if int(r.Class) >= len(c.Classes) {
			return fmt.Errorf("request %d of the corpus: class %d of %d does not exist", i+1, r.Class, len(c.Classes))
		}
		for _, at := range r.IDs {
			if at < 0 || at+IDLength > len(r.Body) {
				return fmt.Errorf("request %d of the corpus: a sequence number at %d does not fit into a body of %d bytes", i+1, at, len(r.Body))
			}
		}
	}
	return nil
}

// IDLength is the length of a sequence number in a body: hexadecimal digits.
const IDLength = 16

// PutID writes a sequence number into the first IDLength bytes of dst.
func PutID(dst []byte, seq uint64) {
	const digits = "0123456789abcdef"
	_ = dst[IDLength-1]
	for i := IDLength - 1; i >= 0; i-- {
		dst[i] = digits[seq&15]
		seq >>= 4
	}
}

// ParseID returns the sequence number that PutID wrote; ok is false if there is none.
func ParseID(src []byte) (seq uint64, ok bool) {
	if len(src) < IDLength {
		return 0, false
	}
	for _, c := range src[:IDLength] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		seq = seq<<4 | uint64(c)
	}
	return seq, true
}

// Class is a kind of request with the criteria of its success.
type Class struct {
	Name  string
	Check Check
}

// Check is a load's check in a form that drivers can apply; Compile makes it ready.
type Check struct {
	workload.Check
	tests []jsonTest // compiled from JSON
}

// Compile compiles the check; Corpus.Prepare does it for its classes.
func (c *Check) Compile() error {
	c.tests = nil
	for _, t := range c.JSON {
		test, err := compileTest(t.Path, t.Equals, t.Exists)
		if err != nil {
			return err
		}
		c.tests = append(c.tests, test)
	}
	return nil
}

// NeedsContent reports whether the check examines more than the status. If it does not, a driver
// need not keep the header and body.
func (c *Check) NeedsContent() bool { return len(c.Header) > 0 || len(c.JSON) > 0 }

// PassStatus reports whether the check accepts a status.
func (c *Check) PassStatus(status int) bool {
	if len(c.Status) == 0 {
		return status < 400 && !Redirects(status)
	}
	return slices.Contains(c.Status, status)
}

// Failures returns how many of a request's units fail because of the answer's header and body.
func (c *Check) Failures(header http.Header, body []byte, units int) int {
	for name, part := range c.Header {
		if !strings.Contains(header.Get(name), part) {
			return units
		}
	}
	return jsonFailures(c.tests, body, units)
}

// Unmet returns the first criterion that an answer with an accepted status does not meet, or nil
// if it meets all.
func (c *Check) Unmet(header http.Header, body []byte) error {
	for name, part := range c.Header {
		if !strings.Contains(header.Get(name), part) {
			return fmt.Errorf("check: the header %s does not contain %q", name, part)
		}
	}
	for i := range c.tests {
		if jsonFailures(c.tests[i:i+1], body, 1) > 0 {
			return fmt.Errorf("check: the field %s is not as required", c.JSON[i].Path)
		}
	}
	return nil
}
