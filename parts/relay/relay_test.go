package relay_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/relay"
	"dyno/parts/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a relay before a listener that answers nothing, until the test ends.
func serve(t *testing.T, o relay.Options, carry relay.Carrier) (addr string, end func()) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.To == "" {
		o.To = server.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { relay.Serve(ctx, front, o, carry) })
	end = func() { cancel(); serving.Wait() }
	t.Cleanup(end)
	return front.Addr().String(), end
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// No more connections than the limit are carried; the next is when one ends. Each has its number.
func TestLimit(t *testing.T) {
	var open, most, carried atomic.Int64
	var numbers sync.Map
	addr, end := serve(t, relay.Options{Limit: 2}, func(ctx context.Context, n uint64, client, _ net.Conn) {
		numbers.Store(n, true)
		most.Store(max(most.Load(), open.Add(1)))
		io.Copy(io.Discard, client)
		open.Add(-1)
		carried.Add(1)
	})
	var conns []net.Conn
	for range 6 {
		conns = append(conns, dial(t, addr))
	}
	for n, c := range conns {
		servicetest.Await(t, func() string { return "two connections" }, func() bool { return open.Load() >= int64(min(2, 6-n)) })
		c.Close()
		servicetest.Await(t, func() string { return "the end of one" }, func() bool { return carried.Load() > int64(n) })
	}
	for n := range uint64(6) {
		if _, ok := numbers.Load(n); !ok {
			t.Errorf("there is no connection %d", n)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d connections were open", most.Load())
	}
	dial(t, addr).Close()
	end()
}

// The end of the context ends a relay whose connections are open, and one that is full.
func TestEnds(t *testing.T) {
	for _, limit := range []int{1, 10} {
		var open atomic.Int64
		addr, end := serve(t, relay.Options{Limit: limit}, func(ctx context.Context, _ uint64, _, _ net.Conn) {
			open.Add(1)
			<-ctx.Done()
		})
		c := dial(t, addr)
		servicetest.Await(t, func() string { return "the connection" }, func() bool { return open.Load() == 1 })
		end()
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("read %d bytes from a relay that has ended", n)
		}
	}
}

func TestServerCannotBeReached(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	addr, _ := serve(t, relay.Options{To: gone.Addr().String()}, func(context.Context, uint64, net.Conn, net.Conn) {
		t.Error("a connection to a server that is not there")
	})
	if _, err := dial(t, addr).Read(make([]byte, 1)); err == nil {
		t.Error("the connection stays open")
	}
}
