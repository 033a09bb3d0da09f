package notify

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const userAgent = "notifyd/1"

// perAttempt encodes and signs afresh for every attempt, with the standard library and the Standard
// Webhooks library.
type perAttempt struct{}

func (perAttempt) prepare(n *notice) { n.Payload = bytes.Clone(n.Payload) } // lets go of the request's body

func (perAttempt) request(ctx context.Context, p *parcel, now time.Time) (*http.Request, error) {
	body := appendContent(nil, p)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	id := messageID(p)
	var signatures []string // of each secret in force, the newest first
	for _, webhook := range p.sub.keys.Load().inForce(now) {
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

// prepared encodes a notice once, when it is accepted, however often it is sent and to however many; and
// keeps what signs it (the keyed hash, buffers) for the next. Only the signature is made for each attempt,
// since it covers the time.
//
// A request's body is a plain bytes.Reader, as with perAttempt: net/http sends headers and body in one
// write only if it knows the reader's type, and a second write costs more than all that is saved here. For
// the same reason nothing of the request itself is used again: there is no telling when the transport has
// let go of it.
type prepared struct{}

func (prepared) prepare(n *notice) {
	n.body = n.appendEnvelope(make([]byte, 0, n.size()+envelopeRoom))
	end := len(n.body) - len("}}")
	n.Payload = n.body[end-len(n.Payload) : end] // so that it is in memory once
}

// message is what a request is made of, in one allocation.
type message struct {
	reader                   bytes.Reader
	content                  []byte
	id, timestamp, signature [1]string
}

// Header values that all webhooks share; nobody writes to them.
var (
	sharedContentType = []string{"application/json"}
	sharedUserAgent   = []string{userAgent}
)

func (prepared) request(ctx context.Context, p *parcel, now time.Time) (*http.Request, error) {
	m := &message{content: p.notices[0].body}
	if len(p.notices) > 1 {
		m.content = appendContent(make([]byte, 0, contentSize(p)), p)
	}
	m.id[0] = messageID(p)
	m.timestamp[0], m.signature[0] = p.sub.keys.Load().sign(m.id[0], now, m.content)

	req := p.request.WithContext(ctx)
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

// contentSize is how long a batch's body will be.
func contentSize(p *parcel) (n int) {
	for _, notice := range p.notices {
		n += len(notice.body) + 1 // a bracket or a comma
	}
	return n + 1
}
