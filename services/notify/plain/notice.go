package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on what a client may send.
const (
	maxNotice   = 256 << 10 // bytes of one notice
	maxBody     = 16 << 20  // bytes of one request
	maxBatch    = 10_000    // lines of one request
	maxName     = 256       // bytes of an id, key or type
	maxBadLines = 100       // told to the client
)

// notice is what a client hands in and a subscriber gets, as it is kept in the log.
type notice struct {
	Seq      uint64    `json:"seq"`
	ID       string    `json:"id"`
	Key      string    `json:"key"`
	Type     string    `json:"type"`
	Payload  []byte    `json:"payload"` // JSON, in base64, because json.Marshal would rewrite spaces and escapes
	Accepted time.Time `json:"accepted"`
	Trace    string    `json:"trace,omitempty"` // the request's traceparent
	To       []string  `json:"to,omitempty"`    // subscriptions
	line     int       // of the batch that it came in; 0: it came alone
}

// body is the webhook's body: the payload byte for byte as it came.
func (n *notice) body() ([]byte, error) {
	head, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
	}{n.Type, n.Accepted})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}{n.ID, n.Key})
	if err != nil {
		return nil, err
	}
	out := append(head[:len(head)-1], `,"data":`...)
	out = append(append(out, data[:len(data)-1]...), `,"payload":`...)
	return append(append(out, n.Payload...), "}}"...), nil
}

// hash is of what its id stands for.
func (n *notice) hash() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q ", n.Key, n.Type)
	h.Write(n.Payload)
	return h.Sum64()
}

func (n *notice) size() int { return len(n.ID) + len(n.Key) + len(n.Type) + len(n.Payload) }

// readNotices reads a request's notices: all of them, or an error. batch says that they came as one.
func readNotices(w http.ResponseWriter, r *http.Request) (notices []*notice, batch bool, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "application/x-ndjson" {
		return nil, false, refuse(http.StatusUnsupportedMediaType, "Content-Type %q is not known here; send application/json for one notice or application/x-ndjson for a batch", kind)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, false, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send it in parts", maxBody)
	}
	if err != nil {
		return nil, false, refuse(http.StatusBadRequest, "reading the body: %v", err)
	}
	if kind == "application/x-ndjson" {
		notices, err := parseBatch(data)
		return notices, true, err
	}
	n, bad := parseNotice(data, r.Header.Get("Idempotency-Key"))
	if bad != nil {
		return nil, false, bad
	}
	return []*notice{n}, false, nil
}

func parseBatch(data []byte) ([]*notice, error) {
	var notices []*notice
	var first *refusal
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxBody+1)
	for line := 1; lines.Scan(); line++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if len(notices) == maxBatch {
			return nil, refuse(http.StatusRequestEntityTooLarge, "more than %d notices; send them in parts", maxBatch)
		}
		n, bad := parseNotice(lines.Bytes(), "")
		notices = append(notices, n)
		if bad == nil {
			n.line = line
			continue
		}
		if first == nil {
			first = refuse(bad.Status, "line %d: %s", line, bad.Text)
		}
		if len(first.Lines) < maxBadLines {
			first.Lines = append(first.Lines, badLine{line, bad.Field, bad.Text})
		}
	}
	if first != nil {
		return nil, first
	}
	if len(notices) == 0 {
		return nil, refuse(http.StatusBadRequest, "the batch is empty; send one notice a line")
	}
	return notices, nil
}

// parseNotice reads one notice. id stands for a missing one; "": one is made.
func parseNotice(data []byte, id string) (*notice, *refusal) {
	if len(data) > maxNotice {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a notice of %d bytes; the most is %d", len(data), maxNotice)
	}
	var ask struct {
		ID      string          `json:"id"`
		Key     string          `json:"key"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	const wanted = "a notice {id, key, type, payload}"
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&ask); err != nil {
		return nil, refuseJSON(wanted, err)
	}
	if err := checkText(data); err != nil {
		return nil, refuseJSON(wanted, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, refuse(http.StatusBadRequest, "text after the notice; for several notices send one a line as application/x-ndjson")
	}
	n := &notice{ID: ask.ID, Key: ask.Key, Type: ask.Type, Payload: ask.Payload}
	if n.Payload == nil {
		n.Payload = []byte("null")
	}
	if n.ID == "" {
		n.ID = id
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	return n, n.check()
}

func (n *notice) check() *refusal {
	switch {
	case n.Key == "":
		return refuseField("key", "is missing: notices of one key are delivered in order")
	case n.Type == "":
		return refuseField("type", "is missing: subscriptions choose by it")
	}
	for name, value := range map[string]string{"id": n.ID, "key": n.Key, "type": n.Type} {
		if len(value) > maxName {
			return refuseField(name, "is longer than %d bytes", maxName)
		}
	}
	for _, c := range []byte(n.ID) {
		if c <= ' ' || c > '~' || c == '.' {
			return refuseField("id", "%q: only visible ASCII without a full stop, since it is signed as part of id.timestamp.body", n.ID)
		}
	}
	return nil
}

// checkText finds what encoding/json lets through: bytes that are not UTF-8, and escapes of half a surrogate pair.
func checkText(data []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)).ReadValue()
	return err
}

// refuseJSON says what is wrong with a JSON text, and in which field as far as that can be told.
func refuseJSON(wanted string, err error) *refusal {
	out := refuse(http.StatusBadRequest, "not %s: %v", wanted, err)
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		out.Field = kind.Field
	}
	if text := (*jsontext.SyntacticError)(nil); errors.As(err, &text) {
		out.Field, _, _ = strings.Cut(strings.TrimPrefix(string(text.JSONPointer), "/"), "/")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		out.Field, _ = strconv.Unquote(name)
	}
	return out
}
