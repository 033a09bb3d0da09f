package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"time"

	"dyno/parts/hostport"
	"dyno/parts/mediatype"
	"dyno/parts/refusal"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on what a client may send.
const (
	maxNotice = 256 << 10 // bytes of one notice
	maxBody   = 16 << 20  // bytes of one request
	maxBatch  = 10_000    // lines of one request
	maxName   = 256       // bytes of an id, key or type
	maxSubs   = 10_000    // subscriptions
)

// notice is what a client posts and a subscriber receives, as the log keeps it.
type notice struct {
	Seq      uint64    `json:"seq"`
	ID       string    `json:"id"`
	Key      string    `json:"key"`
	Type     string    `json:"type"`
	Payload  []byte    `json:"payload"` // base64: json.Marshal would rewrite JSON
	Accepted time.Time `json:"accepted"`
	To       []string  `json:"to,omitempty"` // subscriptions
}

// body is the webhook's body, with the payload byte for byte as it came. Marshal cannot fail here.
func (n *notice) body() []byte {
	head, _ := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
	}{n.Type, n.Accepted})
	data, _ := json.Marshal(struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}{n.ID, n.Key})
	out := append(head[:len(head)-1], `,"data":`...)
	out = append(append(out, data[:len(data)-1]...), `,"payload":`...)
	return append(append(out, n.Payload...), "}}"...)
}

// hash is of the content that the id stands for.
func (n *notice) hash() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q ", n.Key, n.Type)
	h.Write(n.Payload)
	return h.Sum64()
}

func (n *notice) size() int { return len(n.ID) + len(n.Key) + len(n.Type) + len(n.Payload) }

// readNotices reads a request's notices: all of them, or an error. batch: it is NDJSON.
func readNotices(w http.ResponseWriter, r *http.Request) (notices []*notice, batch bool, err error) {
	kind := r.Header.Get("Content-Type")
	if !mediatype.IsJSON(kind) && !mediatype.IsNDJSON(kind) {
		return nil, false, refusal.New(http.StatusUnsupportedMediaType, "Content-Type %.100q is not known here; send application/json for one notice or application/x-ndjson for a batch", kind)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil { // in most cases that it is too large
		return nil, false, refusal.New(http.StatusRequestEntityTooLarge, "reading a body of at most %d bytes: %v", maxBody, err)
	}
	if mediatype.IsJSON(kind) {
		n, err := parseNotice(data)
		return []*notice{n}, false, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxBody+1)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			n, err := parseNotice(lines.Bytes())
			if err != nil {
				return nil, true, err
			}
			notices = append(notices, n)
		}
	}
	switch {
	case len(notices) == 0:
		err = refusal.New(http.StatusBadRequest, "the batch is empty; send one notice a line")
	case len(notices) > maxBatch:
		err = refusal.New(http.StatusRequestEntityTooLarge, "%d notices are more than %d; send them in parts", len(notices), maxBatch)
	}
	return notices, true, err
}

// parseNotice reads one notice. One without an id gets a random one.
func parseNotice(data []byte) (*notice, error) {
	if len(data) > maxNotice {
		return nil, refusal.New(http.StatusRequestEntityTooLarge, "a notice of %d bytes; the most is %d", len(data), maxNotice)
	}
	var ask struct {
		ID      string          `json:"id"`
		Key     string          `json:"key"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	err := decode(data, &ask)
	n := &notice{ID: ask.ID, Key: ask.Key, Type: ask.Type, Payload: ask.Payload}
	if n.Payload == nil {
		n.Payload = []byte("null")
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if err == nil {
		err = n.check()
	}
	if err != nil {
		return nil, refusal.New(http.StatusBadRequest, "not a notice {id, key, type, payload}: %.200q: %v", data, err)
	}
	return n, nil
}

// decode reads one JSON value. It refuses unknown fields, text after the value, and what
// encoding/json lets pass: bytes that are not UTF-8, and escapes of half a surrogate pair.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)).ReadValue(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the value")
	}
	return nil
}

func (n *notice) check() error {
	for name, value := range map[string]string{"id": n.ID, "key": n.Key, "type": n.Type} {
		if value == "" || len(value) > maxName {
			return fmt.Errorf("the %s has %d bytes, not 1 to %d", name, len(value), maxName)
		}
	}
	for _, c := range []byte(n.ID) {
		if c <= ' ' || c > '~' || c == '.' {
			return errors.New("the id: only visible ASCII without a full stop, since it is signed as part of id.timestamp.body")
		}
	}
	return nil
}

// taken is what the answer says of a notice.
type taken struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// postNotices answers POST /v1/notices.
func (s *server) postNotices(w http.ResponseWriter, r *http.Request) (status int, v any, err error) {
	notices, batch, err := readNotices(w, r)
	if err != nil {
		return 0, nil, err
	}
	all, fresh, deliveries, err := s.accept(notices)
	if status = http.StatusAccepted; fresh == 0 {
		status = http.StatusOK
	}
	switch {
	case err != nil:
		return 0, nil, err
	case batch:
		return status, map[string]any{"accepted": fresh, "duplicates": len(all) - fresh, "deliveries": deliveries, "notices": all}, nil
	case fresh == 0:
		return status, all[0], nil
	}
	return status, map[string]any{"id": all[0].ID, "seq": all[0].Seq, "deliveries": deliveries}, nil
}

// subscribe answers POST /v1/subscriptions. A batch may be asked for: each webhook has one notice.
func (s *server) subscribe(w http.ResponseWriter, r *http.Request) (status int, v any, err error) {
	var ask struct {
		URL   string `json:"url"`
		Batch int    `json:"batch"`
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if err == nil {
		err = decode(data, &ask)
	}
	if err == nil {
		ask.URL, err = hostport.Target(ask.URL, s.allowPrivate)
	}
	if err != nil {
		return 0, nil, refusal.New(http.StatusBadRequest, "not a subscription {url, batch}: %v", err)
	}
	sub := &subscription{ID: "sub_" + rand.Text(), URL: ask.URL, Secret: make([]byte, 32)}
	rand.Read(sub.Secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subs) == maxSubs {
		return 0, nil, refusal.New(http.StatusConflict, "there are %d subscriptions already", maxSubs)
	}
	s.record(event{Do: put, Change: sub})
	secret := "whsec_" + base64.StdEncoding.EncodeToString(sub.Secret)
	v = map[string]any{"id": sub.ID, "url": sub.URL, "batch": max(ask.Batch, 1), "secret": secret}
	return http.StatusCreated, v, s.journal.sync() // which also fails after record did
}

// stats answers GET /v1/stats.
func (s *server) stats(http.ResponseWriter, *http.Request) (status int, v any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.StatusOK, struct {
		Durable bool   `json:"durable"`
		Seq     uint64 `json:"seq"`
		counts
		Pending int `json:"pending"`
	}{true, s.seq, s.counts, s.oldest.Len()}, nil
}
