package webhook

import (
	"bytes"
	"context"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dyno/services/notify/notice"
)

// encoder makes requests: the seam "encoding".
type encoder interface {
	// prepare sees every notice once, before any other goroutine does.
	prepare(n *notice.Notice)
	// request makes an attempt at delivering w, signed for now.
	request(ctx context.Context, w *Webhook, now time.Time) (*http.Request, error)
}

// newEncoders names the implementations of the seam "encoding".
var newEncoders = map[string]func() encoder{
	"attempt":  func() encoder { return perAttempt{} },
	"prepared": func() encoder { return prepared{} },
}

const userAgent = "notifyd/1"

// perAttempt encodes and signs afresh for every attempt, with the standard library and the Standard
// Webhooks library.
type perAttempt struct{}

func (perAttempt) prepare(n *notice.Notice) { n.Payload = bytes.Clone(n.Payload) } // releases the request's body

func (perAttempt) request(ctx context.Context, w *Webhook, now time.Time) (*http.Request, error) {
	body := appendContent(nil, w.Notices)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Target.URL().String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	id := messageID(w.Notices)
	var signatures []string // of each secret in force, the newest first
	for _, webhook := range w.Target.keys.inForce(now) {
		signature, err := webhook.Sign(id, now, body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", strings.Join(signatures, " "))
	return req, nil
}

// prepared encodes a notice once, when it is accepted, for all its attempts and receivers; and
// keeps what signs it (the keyed hash, buffers) for the next. Only the signature is made for each
// attempt, since it covers the time.
//
// A request's body is a plain bytes.Reader, as with perAttempt: net/http sends headers and body in
// one write only if it knows the reader's type, and a second write costs more than all that is
// saved here. For the same reason no part of the request itself is used again: the transport does
// not report when it has released it.
type prepared struct{}

func (prepared) prepare(n *notice.Notice) { n.Prepare() }

// message is what a request is made of, in one allocation.
type message struct {
	reader                   bytes.Reader
	content                  []byte
	id, timestamp, signature [1]string
}

// Header values that all webhooks share; no code writes to them.
var (
	sharedContentType = []string{"application/json"}
	sharedUserAgent   = []string{userAgent}
)

func (prepared) request(ctx context.Context, w *Webhook, now time.Time) (*http.Request, error) {
	m := &message{content: w.Notices[0].Body}
	if len(w.Notices) > 1 {
		m.content = appendContent(make([]byte, 0, contentSize(w.Notices)), w.Notices)
	}
	m.id[0] = messageID(w.Notices)
	m.timestamp[0], m.signature[0] = w.Target.keys.sign(m.id[0], now, m.content)

	req := w.Target.request.WithContext(ctx)
	req.Header = http.Header{
		"Content-Type":      sharedContentType,
		"User-Agent":        sharedUserAgent,
		"Webhook-Id":        m.id[:],
		"Webhook-Timestamp": m.timestamp[:],
		"Webhook-Signature": m.signature[:],
	}
	m.reader.Reset(m.content)
	req.Body, req.ContentLength = io.NopCloser(&m.reader), int64(len(m.content))
	req.GetBody = func() (io.ReadCloser, error) { // after a connection that was found closed
		return io.NopCloser(bytes.NewReader(m.content)), nil
	}
	return req, nil
}

// contentSize is the length of a batch's body, in bytes.
func contentSize(notices []*notice.Notice) (size int) {
	for _, n := range notices {
		size += len(n.Body) + 1 // a bracket or a comma
	}
	return size + 1
}

// messageID identifies a webhook's content: a receiver that has seen it may drop it. A notice sent
// alone goes by its own id. A batch may be put together differently when it is tried again, so its
// id is made of the ids in it.
func messageID(notices []*notice.Notice) string {
	if len(notices) == 1 {
		return notices[0].ID
	}
	h := fnv.New128a()
	for _, n := range notices {
		io.WriteString(h, n.ID)
		h.Write([]byte{0})
	}
	const digits = "0123456789abcdef"
	id := []byte("batch_")
	for _, b := range h.Sum(nil) {
		id = append(id, digits[b>>4], digits[b&15])
	}
	return string(id)
}

// appendContent appends a webhook's body: a notice's envelope, or an array of several.
func appendContent(out []byte, notices []*notice.Notice) []byte {
	if len(notices) == 1 {
		return notices[0].AppendEnvelope(out)
	}
	for i, n := range notices {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		out = n.AppendEnvelope(append(out, sep))
	}
	return append(out, ']')
}
