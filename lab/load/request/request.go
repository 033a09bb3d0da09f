// Package request holds what a driver of requests sends, built before the run, and which answers
// count as success.
//
// It is not for building the requests (corpus) or sending them (raw, std). It starts no goroutines.
package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Corpus holds the prebuilt requests that a driver sends in turn, over and over. Weights, key
// distributions and templates are resolved when it is built, so that encoding costs nothing during
// the load.
type Corpus struct {
	Requests []Request
	Classes  []Class // a Request's Class is an index into it; at least one
}

// ClassNames returns the classes' names for a load.Plan; a single class needs no name.
func (c *Corpus) ClassNames() []string {
	if len(c.Classes) < 2 {
		return nil
	}
	names := make([]string, len(c.Classes))
	for i := range c.Classes {
		names[i] = c.Classes[i].Name
	}
	return names
}

// Request is one prebuilt request.
type Request struct {
	Method string
	Path   string // origin form: path and query
	Header http.Header
	Body   []byte
	IDs    []int // offsets in Body of IDLength bytes that hold the offer's sequence number
	Class  uint8
}

// Validate returns an error if a corpus, nil included, is empty or its parts do not fit together.
func (c *Corpus) Validate() error {
	if c == nil || len(c.Requests) == 0 || len(c.Classes) == 0 {
		return errors.New("the corpus is empty: it needs at least one request and one class")
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

// Class is a kind of request with the criteria of its success.
type Class struct {
	Name  string
	Check Check
}

// Check defines which answers count as success. The zero Check requires a status below 400.
type Check struct {
	Status []int             // acceptable statuses
	Header map[string]string // header -> a part of its value
	JSON   []JSONTest        // all must hold
}

// JSONTest is a predicate on one field of a JSON answer.
type JSONTest struct {
	Path   string // names joined by dots: "result.status"
	Equals any    // compared as JSON values; nil requires the field to be absent or null
	Exists bool   // requires the field to exist, whatever its value
}

// NeedsContent reports whether the check looks at more than the status; if not, a driver need not
// keep header and body.
func (c *Check) NeedsContent() bool { return len(c.Header) > 0 || len(c.JSON) > 0 }

// PassStatus reports whether the status alone passes.
func (c *Check) PassStatus(status int) bool {
	if len(c.Status) == 0 {
		return status < 400
	}
	return slices.Contains(c.Status, status)
}

// PassContent reports whether header and body pass.
func (c *Check) PassContent(header http.Header, body []byte) bool {
	for name, part := range c.Header {
		if !strings.Contains(header.Get(name), part) {
			return false
		}
	}
	if len(c.JSON) == 0 {
		return true
	}
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		return false
	}
	for _, t := range c.JSON {
		if !t.holds(doc) {
			return false
		}
	}
	return true
}

func (t *JSONTest) holds(doc any) bool {
	value := doc
	for _, name := range strings.Split(t.Path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			value = nil
			break
		}
		value = object[name]
	}
	if t.Exists {
		return value != nil
	}
	return fmt.Sprint(value) == fmt.Sprint(t.Equals)
}
