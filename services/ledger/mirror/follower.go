package mirror

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

// Reasons for which the server ends a stream.
var (
	errSuperseded = status.Error(codes.Aborted, "a newer StartSync of the same subscriber has taken over")
	errStopping   = status.Error(codes.Unavailable, "the server is stopping; call StartSync again, from the ledger after your last")
)

// maxName bounds a subscriber's name, in bytes.
const maxName = 128

type follower struct {
	name   string
	ctx    context.Context
	end    context.CancelCauseFunc
	before *follower     // the subscriber's previous stream; nil: none. Only the stream's goroutine reads it
	done   chan struct{} // closed after the last Send

	next            atomic.Uint32 // next ledger to send
	sent, fromStore atomic.Uint64
}

// StartSync sends ledgers until the client or the server ends the stream.
func (m *Mirror) StartSync(req *mirrorpb.StartSyncRequest, stream grpc.ServerStreamingServer[mirrorpb.Ledger]) error {
	f, err := m.join(stream.Context(), req)
	if err != nil {
		return err
	}
	// Another goroutine sends, because a Send to a client that does not read blocks until this
	// handler returns; so returning ends the stream. The next stream and Stop wait for the
	// goroutine.
	result := make(chan error, 1)
	go func() {
		defer m.leave(f)
		result <- m.feed(f, stream)
	}()
	select {
	case err := <-result:
		return err
	case <-f.ctx.Done():
		return f.ended()
	}
}

func (f *follower) ended() error {
	cause := context.Cause(f.ctx)
	if _, ours := status.FromError(cause); ours {
		return cause
	}
	return status.FromContextError(cause).Err()
}

// join makes a follower the subscriber's current one and ends the previous one.
func (m *Mirror) join(ctx context.Context, req *mirrorpb.StartSyncRequest) (*follower, error) {
	name := req.GetSubscriber()
	if name == "" || len(name) > maxName {
		return nil, status.Errorf(codes.InvalidArgument, "the subscriber's name has %d bytes; give one of 1 to %d, the same after each reconnection", len(name), maxName)
	}
	from, err := m.begin(req.GetFrom())
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.followers[name]
	switch {
	case m.stopped:
		return nil, errStopping
	case before == nil && len(m.followers) >= m.config.Subscribers:
		return nil, status.Errorf(codes.ResourceExhausted, "there are %d subscribers already, the maximum", len(m.followers))
	case before != nil:
		before.end(errSuperseded)
	}
	f := &follower{name: name, before: before, done: make(chan struct{})}
	f.ctx, f.end = context.WithCancelCause(ctx)
	f.next.Store(from)
	m.followers[name] = f
	m.running.Add(1)
	return f, nil
}

func (m *Mirror) begin(from uint32) (uint32, error) {
	stored := m.config.Store.Stored()
	switch {
	case from == 0 && len(stored) == 0:
		return 0, status.Error(codes.OutOfRange, "the store is empty, so there is no newest ledger to begin after; set from to the first ledger")
	case from == 0:
		return stored[len(stored)-1].To + 1, nil
	case len(stored) > 0 && from < stored[0].From:
		return 0, status.Errorf(codes.OutOfRange, "ledger %d is not stored, and neither is any before %d; begin there, or sync the earlier ones first", from, stored[0].From)
	}
	return from, nil
}

func (m *Mirror) leave(f *follower) {
	f.end(nil)
	m.mu.Lock()
	if m.followers[f.name] == f {
		delete(m.followers, f.name)
	}
	m.mu.Unlock()
	close(f.done)
	m.running.Done()
}

// feed sends one ledger after the other, once the previous stream has sent its last.
func (m *Mirror) feed(f *follower, to grpc.ServerStreamingServer[mirrorpb.Ledger]) error {
	if f.before != nil {
		<-f.before.done // join has ended it, and a blocked Send ends with its handler
		f.before = nil
	}
	for next := f.next.Load(); next != 0; next++ { // 0: there is no ledger after 4294967295
		f.next.Store(next)
		l, live, err := m.await(f.ctx, next)
		if f.ctx.Err() != nil {
			return f.ended()
		}
		if err != nil {
			return err
		}
		if err := to.Send(l); err != nil {
			return err
		}
		m.metrics.sent(live)
		f.sent.Add(1)
		if !live {
			f.fromStore.Add(1)
		}
	}
	return nil
}

// await gets a ledger from memory (live) or the store, and waits until it is stored or ctx ends.
func (m *Mirror) await(ctx context.Context, index uint32) (l *mirrorpb.Ledger, live bool, err error) {
	for {
		l, changed := m.recent.get(index)
		if l != nil {
			return l, true, nil
		}
		var stored xrpl.Ledger // new for each: gRPC may still read a message after Send
		err := m.config.Store.Ledger(index, &stored)
		if err == nil {
			return message(&stored, false), false, nil
		}
		if !errors.Is(err, store.ErrMissing) {
			return nil, false, status.Errorf(codes.Internal, "the store: %v", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}
