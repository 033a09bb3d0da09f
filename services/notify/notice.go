package notify

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"go.opentelemetry.io/otel/trace"
)

// Bounds on what a client may send.
const (
	maxNotice = 256 << 10 // bytes of one notice
	maxBody   = 16 << 20  // bytes of one request
	maxBatch  = 10_000    // notices in one request
	maxName   = 256       // bytes of an id, key or type
)

// notice is what a client hands in and a subscriber gets. It does not change once it was accepted, so
// the subscriptions that are to get it share it.
type notice struct {
	ID      string          `json:"id"`
	Key     string          `json:"key"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`

	body  []byte             // the webhook's body, if the assembly prepares it
	trace *trace.SpanContext // of the request that it came with; nil: without traces
}

// appendBody appends the webhook's body. It is joined by hand because json.Marshal would rewrite the
// payload's spaces and escapes.
func (n *notice) appendBody(out []byte) []byte {
	if n.body != nil {
		return append(out, n.body...)
	}
	head, _ := json.Marshal(struct { // three strings: cannot fail
		ID   string `json:"id"`
		Key  string `json:"key"`
		Type string `json:"type"`
	}{n.ID, n.Key, n.Type})
	out = append(out, head[:len(head)-1]...)
	out = append(out, `,"payload":`...)
	return append(append(out, n.Payload...), '}')
}

func (n *notice) size() int { return len(n.ID) + len(n.Key) + len(n.Type) + len(n.Payload) }

// refusal is an error with the HTTP status that it deserves.
type refusal struct {
	status int
	line   int // of an NDJSON batch; 0: not known
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// readNotices reads a request's notices: all of them, or an error.
func readNotices(w http.ResponseWriter, r *http.Request) ([]*notice, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "application/x-ndjson" {
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Type %q is not known here; send application/json for one notice or application/x-ndjson for a batch", kind)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send it in parts", maxBody)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "reading the body: %v", err)
	}
	if kind == "application/json" {
		n, err := parseNotice(data)
		return []*notice{n}, err
	}
	return parseBatch(data)
}

func parseBatch(data []byte) ([]*notice, error) {
	var notices []*notice
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxBody+1)
	for line := 1; lines.Scan(); line++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if len(notices) == maxBatch {
			return nil, refuse(http.StatusRequestEntityTooLarge, "more than %d notices; send them in parts", maxBatch)
		}
		n, err := parseNotice(lines.Bytes())
		if r := (*refusal)(nil); errors.As(err, &r) {
			r.line = line
			return nil, r
		}
		notices = append(notices, n)
	}
	if len(notices) == 0 {
		return nil, refuse(http.StatusBadRequest, "the batch is empty; send one notice a line")
	}
	return notices, nil
}

func parseNotice(data []byte) (*notice, error) {
	if len(data) > maxNotice {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a notice of %d bytes; the most is %d", len(data), maxNotice)
	}
	n := new(notice)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(n); err != nil {
		return nil, refuse(http.StatusBadRequest, "not a notice {id, key, type, payload}: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, refuse(http.StatusBadRequest, "text after the notice; for several notices send one a line as application/x-ndjson")
	}
	if n.Payload == nil {
		n.Payload = json.RawMessage("null")
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	return n, n.check()
}

func (n *notice) check() error {
	switch {
	case n.Key == "":
		return refuse(http.StatusBadRequest, "key is missing: notices of one key are delivered in order")
	case n.Type == "":
		return refuse(http.StatusBadRequest, "type is missing: subscriptions choose by it")
	case len(n.ID) > maxName, len(n.Key) > maxName, len(n.Type) > maxName:
		return refuse(http.StatusBadRequest, "id, key or type is longer than %d bytes", maxName)
	}
	for _, c := range []byte(n.ID) {
		if c <= ' ' || c > '~' || c == '.' {
			return refuse(http.StatusBadRequest, "id %q: only visible ASCII without a full stop, since it is signed as part of id.timestamp.body", n.ID)
		}
	}
	return nil
}
