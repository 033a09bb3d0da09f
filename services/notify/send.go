package notify

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// outcome is what an attempt came to.
type outcome struct {
	status int           // 0: there was no answer
	err    string        // why there was none
	after  time.Duration // the receiver's Retry-After
}

func (o outcome) delivered() bool { return o.status >= 200 && o.status < 300 }

// maxAnswer is how much of an answer is read so that the connection can be used again; a receiver that
// says more loses its connection.
const maxAnswer = 64 << 10

// send makes one attempt.
func (d *Dispatcher) send(p *parcel) outcome {
	now := time.Now()
	req, err := d.encode.request(d.ctx, p, now)
	if err != nil {
		return outcome{err: err.Error()}
	}
	p.forwardTrace(req)
	resp, err := d.client.Do(req)
	if err != nil {
		return outcome{err: d.unanswered(p, err)}
	}
	io.CopyN(io.Discard, resp.Body, maxAnswer)
	resp.Body.Close()
	o := outcome{status: resp.StatusCode}
	if after := resp.Header.Get("Retry-After"); after != "" {
		o.after = retryAfter(after, now)
	}
	return o
}

// unanswered returns the reason why an attempt got no answer, and logs the error for the operator.
func (d *Dispatcher) unanswered(p *parcel, err error) string {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold a secret in its query
	}
	d.log.Debug("a webhook got no answer", "subscription", p.sub.id, "error", err)
	return reason(err)
}

// maxRetryAfter bounds how long a receiver may put us off: an hour.
const maxRetryAfter = time.Hour

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		d = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// encoder makes requests of parcels: the seam "encoding".
type encoder interface {
	// prepare sees every notice once, before anybody else does.
	prepare(n *notice)
	// request makes an attempt at delivering p, signed for now.
	request(ctx context.Context, p *parcel, now time.Time) (*http.Request, error)
}

// newEncoders names the implementations of the seam "encoding".
var newEncoders = map[string]func() encoder{
	"attempt":  func() encoder { return perAttempt{} },
	"prepared": func() encoder { return prepared{} },
}

// messageID identifies a webhook's content: a receiver that has seen it may drop it. A notice sent alone
// goes by its own id. A batch may be put together differently when it is tried again, so its id is made
// of the ids in it.
func messageID(p *parcel) string {
	if len(p.notices) == 1 {
		return p.notices[0].ID
	}
	h := fnv.New128a()
	for _, n := range p.notices {
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
func appendContent(out []byte, p *parcel) []byte {
	if len(p.notices) == 1 {
		return p.notices[0].appendEnvelope(out)
	}
	for i, n := range p.notices {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		out = n.appendEnvelope(append(out, sep))
	}
	return append(out, ']')
}
