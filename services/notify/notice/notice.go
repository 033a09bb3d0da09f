// Package notice is the event that notifyd accepts and delivers: its fields, the body of its
// webhook, and its record in the log. The API calls an event a notice (/v1/notices), and so does
// this code. It starts no goroutines, and knows neither requests (services/notify/api) nor
// receivers (services/notify/webhook).
package notice

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// MaxName bounds an id, key or type, in bytes.
const MaxName = 256

// Notice is an event. It does not change after it was accepted, so the subscriptions that want it
// share it.
type Notice struct {
	ID      string          `json:"id"`
	Key     string          `json:"key"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`

	Line     int                `json:"-"` // of its batch; 0 means that it came alone
	Seq      uint64             `json:"-"` // its number in the log
	Owed     int                `json:"-"` // deliveries: one for each subscription that wanted it when it was accepted
	Accepted int64              `json:"-"` // unix time, ns
	Trace    *trace.SpanContext `json:"-"` // of its request; nil means none
}

// Timestamp is when the notice was accepted, as its webhooks give it.
func (n *Notice) Timestamp() time.Time { return time.Unix(0, n.Accepted).UTC() }

// AppendEnvelope appends the webhook's body, {"type","timestamp","data":{"id","key","payload"}}. It
// is joined by hand because json.Marshal would rewrite the payload's spaces and escapes.
func (n *Notice) AppendEnvelope(out []byte) []byte {
	out = append(out, `{"type":`...)
	out = AppendString(out, n.Type)
	out = append(out, `,"timestamp":"`...)
	out = n.Timestamp().AppendFormat(out, time.RFC3339Nano)
	out = append(out, `","data":{"id":`...)
	out = AppendString(out, n.ID)
	out = append(out, `,"key":`...)
	out = AppendString(out, n.Key)
	out = append(out, `,"payload":`...)
	return append(append(out, n.Payload...), "}}"...)
}

// envelopeRoom is what an envelope holds beside the notice's own fields: names, quotes, braces, the
// time.
const envelopeRoom = 100

// Envelope returns the webhook's body.
func (n *Notice) Envelope() []byte {
	return n.AppendEnvelope(make([]byte, 0, n.Size()+envelopeRoom))
}

// AppendString appends a string as JSON.
func AppendString(out []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string: cannot fail
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	return append(append(out, s...), '"')
}

var hashSeed = maphash.MakeSeed()

// Content is a hash of key, type and payload, which differs if two notices of one id do. It is
// valid in this process only.
func (n *Notice) Content() uint64 {
	parts := [...]uint64{maphash.String(hashSeed, n.Key), maphash.String(hashSeed, n.Type), maphash.Bytes(hashSeed, n.Payload)}
	return maphash.Comparable(hashSeed, parts)
}

// overhead is about what a pending notice takes in memory beside its text, in bytes: itself, its
// item, a part of its lane.
const overhead = 400

// Cost is what it counts for while it is in memory, in bytes.
func (n *Notice) Cost() int64 { return int64(n.Size()) + overhead }

// Size is the length of its texts, in bytes.
func (n *Notice) Size() int { return len(n.ID) + len(n.Key) + len(n.Type) + len(n.Payload) }
