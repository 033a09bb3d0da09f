package servers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/servers/response"
)

// Subscribe yields the events of streams over its own WebSocket connection, until ctx is done, the
// loop ends, or an error is yielded, which is the last: an *Error, or that of ctx. The first event
// of Ledgers is the last ledger validated before. After a new subscription the caller must request
// what it missed.
func (s *Server) Subscribe(ctx context.Context, streams ...string) iter.Seq2[response.Event, error] {
	return func(yield func(response.Event, error) bool) {
		if err := s.follow(ctx, streams, yield); err != nil {
			yield(response.Event{}, err)
		}
	}
}

func (s *Server) follow(ctx context.Context, streams []string, yield func(response.Event, error) bool) error {
	dial, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	client := dialler(s.config)
	if s.config.Client == nil {
		defer client.CloseIdleConnections()
	}
	l, err := s.open(dial, client, s.events)
	if err == nil {
		err = s.listen(ctx, l, streams, yield)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case dial.Err() != nil && l == nil:
		return &response.Error{Code: response.Timeout, Server: s.name, Err: fmt.Errorf("no connection within %v", s.config.Timeout)}
	}
	return s.asError(err, nil)
}

// listen yields the messages of a connection until the loop ends, and closes the connection.
func (s *Server) listen(ctx context.Context, l *line, streams []string, yield func(response.Event, error) bool) error {
	var pings sync.WaitGroup
	pings.Go(l.ping)
	defer pings.Wait()
	defer l.end(goneError(errors.New("the subscription ended")))

	ask := request{method: "subscribe", streams: streams}
	question := append(ask.append([]byte(`{"id":1,"command":"subscribe",`)), '}')
	if err := l.conn.Write(ctx, websocket.MessageText, question); err != nil {
		return goneError(err)
	}
	late := time.AfterFunc(s.config.Timeout, func() {
		l.end(response.Errorf(response.Timeout, "no answer to a subscription within %v", s.config.Timeout))
	})
	defer late.Stop()
	for {
		b, err := l.message(ctx)
		if err != nil {
			l.end(err) // no effect if the ping or the time-out ended it before
			return l.why
		}
		e, kind, err := response.DecodeEvent(b.bytes)
		b.release()
		switch {
		case err != nil:
			return err
		case kind == "response":
			late.Stop()
		}
		if e.Stream != "" && !yield(e, nil) {
			return nil
		}
	}
}
