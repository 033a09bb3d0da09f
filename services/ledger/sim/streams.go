package sim

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl/answer"
)

// maxQueued bounds a client's queued stream messages. A slower one is disconnected, as by rippled.
const maxQueued = 256

type streams struct {
	mu      sync.Mutex
	sockets map[*socket]struct{}
}

func (t *streams) add(k *socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sockets == nil {
		t.sockets = map[*socket]struct{}{}
	}
	t.sockets[k] = struct{}{}
}

func (t *streams) remove(k *socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sockets, k)
}

func (t *streams) all() []*socket {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.sockets))
}

// subscribe is the methods subscribe and unsubscribe, for the streams ledger and validations.
func (s *Sim) subscribe(ctx context.Context, r *request, e envelope) *delivery {
	if r.socket == nil {
		return e.fail(answer.ErrInvalidParams, r.raw()) // rippled accepts a URL to push to
	}
	for _, name := range r.Streams {
		if name != "ledger" && name != "validations" {
			return e.fail(answer.ErrStream, r.raw())
		}
	}
	r.socket.set(r.Streams, r.method == "subscribe")
	if r.method == "unsubscribe" || !slices.Contains(r.Streams, "ledger") {
		return e.success(members{})
	}
	if err := s.chain.Made(ctx); err != nil {
		return e.fail(failureOf(err), r.raw())
	}
	tip, ok := s.chain.Highest(math.MaxUint32)
	if !ok {
		return e.fail(answer.ErrNoCurrent, r.raw())
	}
	return e.success(members{head: s.closed(nil, &tip, false)})
}

func (k *socket) set(names []string, on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range names {
		switch name {
		case "ledger":
			k.ledgers = on
		case "validations":
			k.votes = on
		}
	}
}

// publish sends subscribers each ledger that is newer than the server's first ones, until ctx ends.
func (s *Sim) publish(ctx context.Context) {
	for index := s.grown; index > 0 && ctx.Err() == nil; index++ {
		e, err := s.chain.Grown(ctx, index)
		if err != nil {
			return
		}
		votes := s.chain.Validations(&e)
		closed := append(s.closed([]byte(`{"type":"ledgerClosed",`), &e, true), '}')
		for _, k := range s.streams.all() {
			k.hear(votes, closed)
		}
	}
}

func (s *Sim) closed(b []byte, e *chain.Entry, count bool) []byte {
	h := e.Parsed()
	b = fmt.Appendf(b, `"fee_base":%d,"ledger_hash":"%v","ledger_index":%d,"ledger_time":%d,"reserve_base":%d,"reserve_inc":%d`,
		chain.FeeDrops, e.Hash(), h.Index, h.Close, reserveBase, reserveIncrement)
	if count {
		b = strconv.AppendInt(append(b, `,"txn_count":`...), int64(e.Count()), 10)
	}
	return fmt.Appendf(b, `,"validated_ledgers":"%v"`, s.Complete())
}

func (k *socket) hear(votes [][]byte, closed []byte) {
	k.mu.Lock()
	ledgers, validations := k.ledgers, k.votes
	k.mu.Unlock()
	var messages [][]byte
	if validations {
		messages = append(messages, votes...)
	}
	if ledgers {
		messages = append(messages, closed)
	}
	for _, m := range messages {
		select {
		case k.messages <- m:
		default:
			k.conn.CloseNow()
			return
		}
	}
}

func (k *socket) push(ctx context.Context, cancel context.CancelFunc) {
	defer cancel()
	for {
		select {
		case m := <-k.messages:
			ctx, done := context.WithTimeout(ctx, writeTimeout)
			err := k.conn.Write(ctx, websocket.MessageText, m)
			done()
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sim) tick(ctx context.Context) {
	if s.chain.Made(ctx) != nil {
		return
	}
	t := time.NewTicker(s.config.TipEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if _, err := s.chain.Grow(ctx); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
