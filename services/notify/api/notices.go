package api

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"dyno/parts/mediatype"
	"dyno/parts/refusal"
	"dyno/parts/tracing"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// Bounds of a request.
const (
	maxNotice = 256 << 10 // bytes of one notice
	maxBody   = 16 << 20  // bytes of one request
	maxBatch  = 10_000    // notices in one request
)

// readNotices reads a request's notices: all of them, or an error. batch says that it was NDJSON.
func readNotices(w http.ResponseWriter, r *http.Request) (notices []*notice.Notice, batch bool, err error) {
	kind := r.Header.Get("Content-Type")
	batch = mediatype.IsNDJSON(kind)
	if !batch && !mediatype.IsJSON(kind) {
		return nil, false, refusal.New(http.StatusUnsupportedMediaType, "Content-Type %.100q is not known here; send application/json for one notice or application/x-ndjson for a batch", kind)
	}
	key := r.Header.Get("Idempotency-Key")
	if err := checkID("Idempotency-Key", key); err != nil {
		return nil, false, err
	}
	data, err := readBody(w, r)
	if err != nil {
		return nil, false, err
	}
	if batch {
		notices, err = parseBatch(data, key)
		return notices, true, err
	}
	n, err := parseNotice(data, key)
	return []*notice.Notice{n}, false, err
}

// readBody reads a body that may be as large as a batch, into one piece of memory if the request
// gives its length.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var data bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxBody {
		data.Grow(int(n) + bytes.MinRead) // the room that ReadFrom needs to see the end
	}
	_, err := data.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, refusal.New(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send it in parts", maxBody)
	}
	if err != nil {
		return nil, refusal.New(http.StatusBadRequest, "reading the body: %v", err)
	}
	return data.Bytes(), nil
}

// parseBatch reads one notice a line. Those without an id get one of the idempotency key: KEY-LINE.
func parseBatch(data []byte, key string) ([]*notice.Notice, error) {
	notices := make([]*notice.Notice, 0, min(bytes.Count(data, []byte{'\n'})+1, maxBatch))
	var bad []dispatch.BadLine
	status := http.StatusBadRequest
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data, _ = bytes.Cut(data, []byte{'\n'})
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if len(notices) == maxBatch {
			return nil, refusal.New(http.StatusRequestEntityTooLarge, "more than %d notices; send them in parts", maxBatch)
		}
		lineKey := key
		if key != "" {
			lineKey = fmt.Sprintf("%s-%d", key, line)
		}
		n, err := parseNotice(text, lineKey)
		if r := (*refusal.Error)(nil); errors.As(err, &r) && len(bad) < dispatch.MaxBadLines {
			bad = append(bad, dispatch.BadLine{Line: line, Field: r.Field, Error: r.Text})
			if r.Status == http.StatusRequestEntityTooLarge {
				status = r.Status
			}
		}
		if n != nil {
			n.Line = line
		}
		notices = append(notices, n)
	}
	if len(bad) > 0 {
		return nil, dispatch.RefuseLines(status, bad)
	}
	if len(notices) == 0 {
		return nil, refusal.New(http.StatusBadRequest, "the batch is empty; send one notice a line")
	}
	return notices, nil
}

// parseNotice reads one notice; key is its id if it has none. The payload shares memory with data.
func parseNotice(data []byte, key string) (*notice.Notice, error) {
	if len(data) > maxNotice {
		return nil, refusal.New(http.StatusRequestEntityTooLarge, "a notice of %d bytes; the most is %d", len(data), maxNotice)
	}
	n, err := decodeNotice(data)
	if err != nil {
		return nil, err
	}
	if n.ID == "" {
		n.ID = key
	}
	return n, check(n)
}

// check returns what is wrong with a notice, and makes an id where there is none.
func check(n *notice.Notice) error {
	if n.Payload == nil {
		n.Payload = json.RawMessage("null")
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	switch {
	case n.Key == "":
		return refusal.Field("key", "key is missing: notices of one key are delivered in order")
	case n.Type == "":
		return refusal.Field("type", "type is missing: subscriptions choose by it")
	case len(n.Key) > notice.MaxName:
		return refusal.Field("key", "key is longer than %d bytes", notice.MaxName)
	case len(n.Type) > notice.MaxName:
		return refusal.Field("type", "type is longer than %d bytes", notice.MaxName)
	}
	return checkID("id", n.ID)
}

// checkID refuses an id that a webhook cannot be signed with.
func checkID(field, id string) error {
	if len(id) > notice.MaxName {
		return refusal.Field(field, "%s is longer than %d bytes", field, notice.MaxName)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '.' {
			return refusal.Field(field, "%s %q: only visible ASCII without a full stop, since it is signed as part of id.timestamp.body", field, id)
		}
	}
	return nil
}

// maxTraced bounds the notices of one request that have spans; the traces of the others go on
// unsampled. A batch of 10,000 would otherwise be a trace of 20,000 spans.
const maxTraced = 8

// MarkTraces gives the notices of a request its place in a trace: that of its span, or, when this
// process makes no spans, the one that the request came with.
func MarkTraces(r *http.Request, notices []*notice.Notice) {
	at := trace.SpanContextFromContext(r.Context())
	if !at.IsValid() {
		at = tracing.Extract(r.Header)
	}
	if !at.IsValid() {
		return
	}
	first := min(len(notices), maxTraced)
	for _, n := range notices[:first] {
		n.Trace = &at
	}
	rest := at.WithTraceFlags(at.TraceFlags().WithSampled(false))
	for _, n := range notices[first:] {
		n.Trace = &rest
	}
}
