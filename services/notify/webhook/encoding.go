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

const userAgent = "notifyd/1"

// request makes an attempt at delivering w. It is encoded and signed afresh, with the standard
// library and the Standard Webhooks library: the signature covers the time.
func (w *Webhook) request(ctx context.Context, now time.Time) (*http.Request, error) {
	body := appendContent(nil, w.Notices)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Target.url.String(), bytes.NewReader(body))
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
