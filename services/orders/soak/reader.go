package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"dyno/services/orders/soak/history"
)

// reader reads single orders on one connection, sequentially or pipelined, for any account.
type reader struct {
	*run
	client int
	depth  int // maximum requests in progress
	random *rand.Rand
	seen   *history.Reader
	wire   *wire // nil means not connected
	reads  []history.Read
	served time.Time // time of the last answer
}

// pipelined is the maximum number of requests in progress of a pipelining reader.
const pipelined = 12

func newReader(r *run, client int) *reader {
	x := &reader{run: r, client: client, depth: 1, served: time.Now(),
		random: rand.New(rand.NewPCG(r.Seed, uint64(client))), seen: r.history.Reader(fmt.Sprintf("reader %d", client))}
	if client%2 == 1 {
		x.depth = pipelined
	}
	return x
}

func (x *reader) work(ctx context.Context) error {
	defer x.hangUp()
	for !x.done() && ctx.Err() == nil {
		asks := make([]history.Ask, 1+x.random.IntN(x.depth))
		for i := range asks {
			asks[i] = x.choose()
		}
		answered, err := x.ask(asks...)
		x.count(answered)
		switch wrong := (*garbled)(nil); {
		case errors.As(err, &wrong):
			x.history.Break(history.Garbled, "reader %d gets %v", x.client, wrong)
			x.hangUp()
		case err != nil:
			x.broken.Add(1)
			x.hangUp()
		case answered == len(asks):
			continue
		}
		if time.Since(x.served) > timeout {
			return fmt.Errorf("reader %d was not served for %v: %w", x.client, timeout, err)
		}
		if err := pause(ctx, time.Duration(1+x.random.IntN(5))*time.Millisecond); err != nil {
			return nil
		}
	}
	return nil
}

func (x *reader) hangUp() {
	if x.wire != nil {
		x.wire.conn.Close()
		x.wire = nil
	}
}

// choose draws a request: mostly for the account's own order, hot or not, and sometimes for one
// that does not exist, does not exist yet, or belongs to another account.
func (x *reader) choose() history.Ask {
	var k history.Known
	switch p := x.random.IntN(100); {
	case p < 50:
		k = x.history.Hot(x.random.IntN(x.Hot))
	case p < 95:
		k = x.history.Tail(x.random.IntN(math.MaxInt32))
	case p < 98: // orders that are created next
		k.UID = x.history.Newest() + 1 + x.random.Int64N(4)
	default: // never created
		k.UID = math.MaxInt64 - x.random.Int64N(1<<40)
	}
	a := history.Ask{UID: k.UID, Account: k.Account}
	if k.Account == "" || x.random.IntN(8) == 0 {
		a.Account = history.TailKey(x.random.IntN(x.Accounts)).Account(x.Accounts)
	}
	if k.Version > 0 {
		x.condition(&a, k.Version)
	}
	return a
}

// condition draws further parameters of a request for an order whose highest acknowledged version
// is known.
func (x *reader) condition(a *history.Ask, version int64) {
	switch p := x.random.IntN(64); {
	case p < 8:
		a.Known = max(version, x.seen.Seen(a.UID))
	case p < 12:
		a.MinVersion = version
	case p < 13:
		a.MinVersion = version + 1_000_000
	case p < 17:
		a.Stale = true
	}
}

// ask sends all requests and judges the answers. It returns how many were answered.
func (x *reader) ask(asks ...history.Ask) (answered int, err error) {
	if x.wire == nil {
		if x.wire, err = dial(x.address); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	x.reads = x.reads[:0]
	for _, a := range asks {
		x.wire.ask(a, x.address, x.tokens[a.Account])
	}
	for _, a := range asks {
		x.reads = append(x.reads, x.seen.Begin(a))
	}
	if err := x.wire.send(); err != nil {
		return 0, err
	}
	for i := range x.reads {
		a, last, err := x.wire.answer()
		if err != nil {
			return answered, err
		}
		if x.seen.End(&x.reads[i], &a) {
			answered++
			x.note(&x.reads[i], &a, began)
		}
		if last {
			x.hangUp() // later requests are not answered
			return answered, nil
		}
	}
	return answered, nil
}

// note treats an answer as a sign that the database is up if it cannot come from memory.
func (x *reader) note(read *history.Read, a *history.Answer, began time.Time) {
	if a.Status == http.StatusOK && !a.Marked && read.Endless() {
		x.served = time.Now()
		x.outage.served(x.client, began)
	}
}
