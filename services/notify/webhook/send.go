package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/seconds"
	"dyno/parts/tracing"
)

// Options of a Sender.
type Options struct {
	Client       string // implementation, by name
	Workers      int    // goroutines that send concurrently
	Timeout      time.Duration
	AllowPrivate bool              // addresses that are not public
	Log          *slog.Logger      // nil means none
	Transport    http.RoundTripper // for tests: used instead of the client's; nil means none
}

// Sender posts webhooks. Its methods may be called by Options.Workers goroutines concurrently.
type Sender struct {
	client client
	log    *slog.Logger
}

// NewSender returns a sender. An unknown name in o is an error that lists those that exist.
func NewSender(o Options) (*Sender, error) {
	newClient, err := refusal.Pick("client", newClients, o.Client)
	if err != nil {
		return nil, err
	}
	s := &Sender{log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Transport != nil {
		s.client = &http.Client{Transport: o.Transport, Timeout: o.Timeout, CheckRedirect: stay}
	} else {
		s.client = newClient(o)
	}
	return s, nil
}

// Close closes connections that are not in use.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// maxAnswer is how much of an answer is read so that the connection can be used again, in bytes; a
// receiver that sends more loses its connection.
const maxAnswer = 64 << 10

// Send makes one attempt for a subscription.
func (s *Sender) Send(ctx context.Context, subscription string, w *Webhook) Outcome {
	if w.Target.wrong != nil {
		return Outcome{Err: "the url of the subscription is wrong: " + w.Target.wrong.Error()}
	}
	now := time.Now()
	req, err := w.request(ctx, now)
	if err != nil {
		return Outcome{Err: err.Error()}
	}
	if w.Trace.IsValid() {
		tracing.Inject(w.Trace, req.Header)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Outcome{Err: s.unanswered(subscription, err)}
	}
	io.CopyN(io.Discard, resp.Body, maxAnswer)
	resp.Body.Close()
	o := Outcome{Status: resp.StatusCode}
	o.RetryAfter = min(seconds.RetryAfter(resp.Header.Get("Retry-After"), now), MaxRetryAfter)
	return o
}

// unanswered returns the reason why an attempt got no answer, and logs the error for the operator.
func (s *Sender) unanswered(subscription string, err error) string {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold a secret in its query
	}
	s.log.Debug("a webhook got no answer", "subscription", subscription, "error", err)
	return reason(err)
}

// MaxRetryAfter bounds how long a receiver may ask to wait.
const MaxRetryAfter = time.Hour
