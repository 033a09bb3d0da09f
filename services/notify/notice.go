package notify

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"dyno/services/notify/dedup"
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

	line     int                // of the batch that it came in; 0: it came alone
	seq      uint64             // its number in the log
	owed     int                // deliveries, one per subscription that wanted it when it was accepted
	accepted int64              // unix time, ns
	body     []byte             // the webhook's body, if the assembly prepares it
	trace    *trace.SpanContext // of the request that it came with; nil: without traces
}

// timestamp is when it was accepted, as its webhooks say it.
func (n *notice) timestamp() time.Time { return time.Unix(0, n.accepted).UTC() }

// appendEnvelope appends the webhook's body, {"type","timestamp","data":{"id","key","payload"}}. It is
// joined by hand because json.Marshal would rewrite the payload's spaces and escapes.
func (n *notice) appendEnvelope(out []byte) []byte {
	if n.body != nil {
		return append(out, n.body...)
	}
	out = append(out, `{"type":`...)
	out = appendString(out, n.Type)
	out = append(out, `,"timestamp":"`...)
	out = n.timestamp().AppendFormat(out, time.RFC3339Nano)
	out = append(out, `","data":{"id":`...)
	out = appendString(out, n.ID)
	out = append(out, `,"key":`...)
	out = appendString(out, n.Key)
	out = append(out, `,"payload":`...)
	return append(append(out, n.Payload...), "}}"...)
}

// envelopeRoom is what an envelope holds beside the notice's own fields: names, quotes, braces, the time.
const envelopeRoom = 100

// appendString appends a string as JSON.
func appendString(out []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string: cannot fail
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	return append(append(out, s...), '"')
}

// item is what tells it from other notices. The hash is good in this process only.
func (n *notice) item() dedup.Item {
	parts := [...]uint64{maphash.String(hashSeed, n.Key), maphash.String(hashSeed, n.Type), maphash.Bytes(hashSeed, n.Payload)}
	return dedup.Item{ID: n.ID, Content: maphash.Comparable(hashSeed, parts)}
}

// itemOverhead is about what an item takes in memory beside its text: itself, its notice, a part of its lane.
const itemOverhead = 400

// cost is what it counts for while it is in memory, bytes.
func (n *notice) cost() int64 { return int64(n.size()) + itemOverhead }

func (n *notice) size() int { return len(n.ID) + len(n.Key) + len(n.Type) + len(n.Payload) }

// refusal is an error with the HTTP status that it deserves.
type refusal struct {
	status int
	field  string    // of the notice or subscription; "": none
	lines  []badLine // of an NDJSON batch
	text   string
}

// badLine is what is wrong with one line of a batch.
type badLine struct {
	Line  int    `json:"line"`
	Field string `json:"field,omitempty"`
	Error string `json:"error"`
}

func (r *refusal) Error() string { return r.text }

// refuseLines refuses a batch for some of its lines.
func refuseLines(status int, bad []badLine) *refusal {
	r := refuse(status, "line %d: %s; nothing of the batch was stored", bad[0].Line, bad[0].Error)
	r.lines = bad
	return r
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// badField is a 400 that names the field.
func badField(field, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, field: field, text: fmt.Sprintf(format, args...)}
}

// check says what is wrong with a notice and makes an id where there is none.
func (n *notice) check() error {
	if n.Payload == nil {
		n.Payload = json.RawMessage("null")
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	switch {
	case n.Key == "":
		return badField("key", "key is missing: notices of one key are delivered in order")
	case n.Type == "":
		return badField("type", "type is missing: subscriptions choose by it")
	case len(n.Key) > maxName:
		return badField("key", "key is longer than %d bytes", maxName)
	case len(n.Type) > maxName:
		return badField("type", "type is longer than %d bytes", maxName)
	}
	return checkID("id", n.ID)
}

func checkID(field, id string) error {
	if len(id) > maxName {
		return badField(field, "%s is longer than %d bytes", field, maxName)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '.' {
			return badField(field, "%s %q: only visible ASCII without a full stop, since it is signed as part of id.timestamp.body", field, id)
		}
	}
	return nil
}
