package notify

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"dyno/services/notify/journal"
)

// Sender posts webhooks to one receiver with a Dispatcher's own client, encoding and signature, and does
// nothing else of what a Dispatcher does: there is no log, no lane, no queue and no second attempt. What
// those cost is measured against it. Its methods may be called by as many goroutines at once as c.Workers.
type Sender struct {
	d   *Dispatcher // of which only what an attempt takes is there
	sub *subscription
}

// Outgoing is a notice for a Sender.
type Outgoing struct {
	ID, Key, Type string
	Payload       []byte // JSON
}

// NewSender returns a sender that signs with a secret, whsec_... The client and the encoding are those that
// c names.
func NewSender(c Config, to, secret string) (*Sender, error) {
	newClient, err := pick("client", newClients, c.Client)
	if err != nil {
		return nil, err
	}
	newEncoder, err := pick("encoding", newEncoders, c.Encoding)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	key, err := parseSecret(secret)
	if err != nil {
		return nil, err
	}
	ring, err := newKeyring([]journal.Secret{{Key: key}})
	if err != nil {
		return nil, err
	}
	s := &Sender{
		d:   &Dispatcher{config: c, encode: newEncoder(), client: newClient(c), ctx: context.Background(), log: slog.New(slog.DiscardHandler)},
		sub: &subscription{request: &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}},
	}
	s.sub.keys.Store(ring)
	return s, nil
}

// Send posts notices in one webhook. An answer other than 2xx is an error.
func (s *Sender) Send(notices ...Outgoing) error {
	p := new(parcel)
	p.reset(s.sub)
	accepted := time.Now().UnixNano()
	for _, o := range notices {
		n := &notice{ID: o.ID, Key: o.Key, Type: o.Type, Payload: o.Payload, accepted: accepted}
		s.d.encode.prepare(n)
		p.notices = append(p.notices, n)
	}
	switch out := s.d.send(p); {
	case out.delivered():
		return nil
	case out.status == 0:
		return fmt.Errorf("posting a webhook: %s", out.err)
	default:
		return fmt.Errorf("posting a webhook: answered %d", out.status)
	}
}

// Close closes connections that are not in use.
func (s *Sender) Close() { s.d.client.CloseIdleConnections() }
