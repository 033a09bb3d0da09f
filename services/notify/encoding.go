package notify

import (
	"bytes"
	"context"
	"encoding/base64"
	"hash"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const userAgent = "notifyd/1"

// perAttempt encodes and signs afresh for every attempt, with the standard library and the Standard
// Webhooks library.
type perAttempt struct{}

func (perAttempt) prepare(*notice) {}

func (perAttempt) request(ctx context.Context, p *parcel, now time.Time) (*http.Request, func(), error) {
	body := appendContent(nil, p)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.sub.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	id := messageID(p)
	signature, err := p.sub.webhook.Sign(id, now, body)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	return req, func() {}, nil
}

// prepared encodes a notice once, when it is accepted, however often it is sent and to however many; and
// keeps what a request is made of (headers, buffers, the keyed hash) for the next. Only the signature is
// made for each attempt, since it covers the time.
type prepared struct {
	drafts sync.Pool // of *draft
}

func newPrepared() *prepared {
	e := &prepared{}
	e.drafts.New = func() any { return newDraft(&e.drafts) }
	return e
}

func (e *prepared) prepare(n *notice) {
	n.body = n.appendBody(make([]byte, 0, n.size()+64)) // 64: the names, quotes and braces
}

// draft is everything of a request that can be used again.
type draft struct {
	header    http.Header
	id        []string // the header's values, to be set without a map access
	timestamp []string
	signature []string
	second    int64 // what timestamp says
	body      []byte
	content   []byte       // body, or a single notice's own
	holders   atomic.Int32 // who still uses the draft: the transport that reads the body, the worker that reads the answer
	sum       []byte
	text      []byte // of the signature
	again     func() (io.ReadCloser, error)
	done      func()
}

// draftBody is a request's body. The transport closes it when it will not touch it again, which may be
// after the answer has come; it is made anew each time, so that a second Close hits nobody else.
type draftBody struct {
	bytes.Reader
	draft  *draft
	closed atomic.Bool
}

func (b *draftBody) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.draft.done()
	}
	return nil
}

func newDraft(pool *sync.Pool) *draft {
	values := make([]string, 3)
	d := &draft{id: values[0:1:1], timestamp: values[1:2:2], signature: values[2:3:3]}
	d.header = http.Header{
		"Content-Type":      {"application/json"},
		"User-Agent":        {userAgent},
		"Webhook-Id":        d.id,
		"Webhook-Timestamp": d.timestamp,
		"Webhook-Signature": d.signature,
	}
	d.again = func() (io.ReadCloser, error) { // after a connection that was found closed
		d.holders.Add(1) // for good: it is not known when the transport lets go of this one
		return io.NopCloser(bytes.NewReader(d.content)), nil
	}
	d.done = func() {
		if d.holders.Add(-1) == 0 && cap(d.body) <= maxKept {
			d.content = nil
			pool.Put(d)
		}
	}
	return d
}

// maxKept bounds what a draft keeps: a rare large batch does not hold its memory for good.
const maxKept = 1 << 20

func (e *prepared) request(ctx context.Context, p *parcel, now time.Time) (*http.Request, func(), error) {
	d := e.drafts.Get().(*draft)
	if d.content = p.notices[0].body; len(p.notices) > 1 {
		d.body = appendContent(d.body[:0], p)
		d.content = d.body
	}
	d.id[0] = messageID(p)
	if second := now.Unix(); second != d.second {
		d.second, d.timestamp[0] = second, strconv.FormatInt(second, 10)
	}
	d.sign(&p.sub.hmacs)
	d.holders.Store(2)
	body := &draftBody{draft: d}
	body.Reset(d.content)
	req := p.sub.request.WithContext(ctx)
	req.Header, req.Body, req.GetBody, req.ContentLength = d.header, body, d.again, int64(len(d.content))
	return req, d.done, nil
}

// sign sets the signature of id.timestamp.body, by Standard Webhooks.
func (d *draft) sign(keyed *sync.Pool) {
	h := keyed.Get().(hash.Hash)
	h.Reset()
	d.text = append(append(d.text[:0], d.id[0]...), '.')
	d.text = append(append(d.text, d.timestamp[0]...), '.')
	h.Write(d.text)
	h.Write(d.content)
	d.sum = h.Sum(d.sum[:0])
	keyed.Put(h)
	d.text = base64.StdEncoding.AppendEncode(append(d.text[:0], "v1,"...), d.sum)
	d.signature[0] = string(d.text)
}
