package peers

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, whose connections can be cut without a sign.
type pipes struct {
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// mute loses what is written when it is silent.
type mute struct {
	net.Conn
	silent func() bool
}

func (m mute) Write(b []byte) (int, error) {
	if m.silent() {
		return len(b), nil
	}
	return m.Conn.Write(b)
}

func (p *pipes) dial(silent func() bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case p.accepted <- mute{far, silent}:
			return mute{near, silent}, nil
		case <-p.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// bubble runs two networks over a listener in memory; the first dials. Changes are those of its
// peer.
func bubble(t *testing.T, silent func() bool, head Note, test func(a, b *Network, changes <-chan bool)) {
	synctest.Test(t, func(t *testing.T) {
		l, keys := newPipes(), []Key{NewKey(), NewKey()}
		changes := make(chan bool, 100)
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		b, err := New(Options{Key: keys[1], Permitted: []ID{keys[0].ID()}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(Options{Key: keys[0], Addresses: []Address{{keys[1].ID(), "b:1"}}, Log: log, Dial: l.dial(silent)})
		if err != nil {
			t.Fatal(err)
		}
		a.Watch(func(_ ID, connected bool) { changes <- connected })
		b.Handle(Head, head)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = b.Run(ctx, l) })
		running.Go(func() { _ = a.Run(ctx, nil) })
		if !<-changes {
			t.Fatal("disconnected first")
		}
		test(a, b, changes)
		cancel()
		running.Wait()
	})
}

// Idle peers stay connected. When the network loses everything, both find out and connect again
// when it carries again.
func TestSilence(t *testing.T) {
	var lost atomic.Bool
	bubble(t, lost.Load, nil, func(a, b *Network, changes <-chan bool) {
		time.Sleep(time.Hour)
		if len(changes) > 0 {
			t.Errorf("an idle connection ended: %+v", a.Peers())
		}
		began := time.Now()
		lost.Store(true)
		if <-changes {
			t.Error("connected twice")
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("silence was noticed after %v", took)
		}
		time.Sleep(time.Minute)
		lost.Store(false)
		if !<-changes {
			t.Error("disconnected twice")
		}
		synctest.Wait()
		if peers := b.Peers(); !peers[0].Connected || peers[0].Score != 0 {
			t.Errorf("the other end has %+v", peers)
		}
	})
}

// A peer that reads nothing more loses its connection, although it sends heartbeats.
func TestPeerThatDoesNotRead(t *testing.T) {
	busy := func(context.Context, ID, []byte) error { time.Sleep(time.Hour); return nil }
	bubble(t, func() bool { return false }, busy, func(a, b *Network, changes <-chan bool) {
		for range 2 {
			if err := a.Send(b.ID(), Head, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
		if <-changes {
			t.Error("connected twice")
		}
		if p := a.Peers()[0]; p.LastError != errSlow.Error() || p.Score != 0 {
			t.Errorf("the peer is %+v", p)
		}
	})
}
