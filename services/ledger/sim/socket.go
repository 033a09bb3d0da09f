package sim

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/parts/refusal"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/sim/limits"
	"dyno/services/ledger/xrpl/answer"
)

// Limits of a WebSocket connection.
const (
	maxInFlight  = 256              // requests answered concurrently; until one ends, no more are read
	writeTimeout = 30 * time.Second // per message; a client that reads more slowly is disconnected
)

type socket struct {
	conn     *websocket.Conn
	addr     string
	mu       sync.Mutex // of streams
	ledgers  bool
	votes    bool
	messages chan []byte // queued messages of streams
}

func (s *Sim) upgrade(w http.ResponseWriter, r *http.Request) {
	addr := address(r.RemoteAddr)
	// Counted before the client sees the connection, so that their numbers ascend.
	number := s.connections.Add(1)
	dead := s.dice.Happens(fault.Dead, uint64(number), 0)
	if dead {
		s.tally.Fault(fault.Dead, number, 1)
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil { // Accept has answered
		if dead {
			s.tally.Fault(fault.Dead, number, -1)
		}
		return
	}
	defer s.limiter.Closed(addr) // the HTTP server does not see a hijacked connection end
	defer conn.CloseNow()
	conn.SetReadLimit(maxRequest)
	if dead {
		s.pause(s.ctx, s.config.StallFor) // reads and sends no bytes, not even pongs
		return
	}
	k := &socket{conn: conn, addr: addr, messages: make(chan []byte, maxQueued)}
	s.streams.add(k)
	defer s.streams.remove(k)
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	work.Go(func() { k.push(ctx, cancel) })
	s.read(ctx, cancel, k, &work)
	cancel()
	work.Wait()
}

// read reads requests from a connection until it ends, and answers each on its own goroutine.
func (s *Sim) read(ctx context.Context, cancel context.CancelFunc, k *socket, work *sync.WaitGroup) {
	places := make(chan struct{}, maxInFlight)
	for {
		_, message, err := k.conn.Read(ctx)
		if err != nil {
			return
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		work.Go(func() {
			defer func() { <-places }()
			if !s.respond(ctx, k, message) {
				cancel()
			}
		})
	}
}

func (s *Sim) respond(ctx context.Context, k *socket, message []byte) bool {
	call, err := parseMessage(message, k)
	e := s.envelope(call, s.warner(k.addr, limits.CostMalformed))
	if !s.limiter.Admit(k.addr) {
		s.tally.Refuse()
		return s.sendAnswer(ctx, k, s.envelope(call, nil).overLimit(call.raw()))
	}
	var a *delivery
	if r, ok := err.(*refusal.Error); ok {
		a = e.fail(&answer.Error{Token: r.Text, Message: r.Text}, call.raw())
	} else if err != nil {
		a = e.fail(answer.ErrInvalidParams, call.raw())
	} else {
		a = s.handle(ctx, call, s.warner(k.addr, limits.CostRequest))
	}
	return s.sendAnswer(ctx, k, a)
}

// sendAnswer sends an answer over a WebSocket, counts it, and says whether the connection
// continues.
func (s *Sim) sendAnswer(ctx context.Context, k *socket, a *delivery) bool {
	defer s.release(a)
	if !s.pause(ctx, s.config.Delay+a.wait) {
		return false
	}
	switch a.act {
	case stayQuiet:
		s.book(a, 1)
		return true
	case hangUp:
		s.book(a, 1)
		k.conn.Close(websocket.StatusPolicyViolation, "threshold exceeded")
		return false
	}
	ctx, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	w, err := k.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return false
	}
	s.book(a, 1)
	if a.act == cutOff {
		if s.write(w, a, a.size()/2) != nil {
			s.book(a, -1)
		}
		k.conn.CloseNow() // with the message unfinished
		return false
	}
	if s.write(w, a, -1) != nil || w.Close() != nil {
		s.book(a, -1)
		return false
	}
	return true
}
