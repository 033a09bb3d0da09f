package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store in memory.
type shelf struct {
	mu      sync.Mutex
	stored  history.Set
	payload int // bytes of a transaction
}

func (s *shelf) Stored() history.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

func (s *shelf) Ledger(index uint32, into *xrpl.Ledger) error {
	if !s.Stored().Has(index) {
		return fmt.Errorf("ledger %d: %w", index, store.ErrMissing)
	}
	*into = *ledger(index, s.payload)
	return nil
}

// put stores a ledger and publishes it, as the pipeline does.
func (s *shelf) put(m *Mirror, index uint32) {
	s.mu.Lock()
	s.stored = s.stored.With(history.Range{From: index, To: index})
	s.mu.Unlock()
	m.Publish(ledger(index, s.payload))
}

// ledger makes a ledger whose every byte depends on its index.
func ledger(index uint32, payload int) *xrpl.Ledger {
	h := xrpl.Header{Index: index}
	tx := xrpl.Transaction{Blob: slices.Repeat([]byte{byte(index)}, payload+1), Meta: []byte{byte(index), 1}}
	return &xrpl.Ledger{Index: index, Hash: h.Hash(), Header: h.Append(nil), Transactions: []xrpl.Transaction{tx, tx}}
}

// start serves a mirror of a store on a loopback port until the test ends.
func start(t *testing.T, c Config) (*Mirror, *grpc.ClientConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := New(c)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.Serve(l); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		m.Stop(context.Background())
		serving.Wait()
	})
	return m, conn
}

func follow(t *testing.T, ctx context.Context, conn *grpc.ClientConn, name string, from uint32) grpc.ServerStreamingClient[mirrorpb.Ledger] {
	t.Helper()
	stream, err := mirrorpb.NewMirrorClient(conn).StartSync(ctx, &mirrorpb.StartSyncRequest{Subscriber: name, From: from})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// expect reads the ledgers of a range and no others.
func expect(t *testing.T, stream grpc.ServerStreamingClient[mirrorpb.Ledger], from, to uint32) {
	t.Helper()
	for want := from; want <= to; want++ {
		got, err := stream.Recv()
		if err != nil {
			t.Fatalf("instead of ledger %d: %v", want, err)
		}
		l := ledger(got.Index, len(got.Transactions[0].Blob)-1)
		same := got.Index == want && string(got.Hash) == string(l.Hash[:]) && string(got.Header) == string(l.Header) && len(got.Transactions) == 2
		for i, tx := range got.Transactions {
			same = same && string(tx.Blob) == string(l.Transactions[i].Blob) && string(tx.Meta) == string(l.Transactions[i].Meta)
		}
		if !same {
			t.Fatalf("got %v, want ledger %d", got, want)
		}
	}
}

// statusUntil asks for the status until a condition holds.
func statusUntil(t *testing.T, conn *grpc.ClientConn, will func(*mirrorpb.StatusResponse) bool) *mirrorpb.StatusResponse {
	t.Helper()
	for {
		s, err := mirrorpb.NewMirrorClient(conn).Status(t.Context(), &mirrorpb.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if will(s) {
			return s
		}
	}
}

func TestBackfillThenLive(t *testing.T) {
	s := &shelf{stored: history.Set{{From: 5, To: 10}}}
	m, conn := start(t, Config{Store: s})
	stream := follow(t, t.Context(), conn, "indexer", 7)
	expect(t, stream, 7, 10)
	for i := uint32(11); i <= 13; i++ {
		s.put(m, i)
		expect(t, stream, i, i)
	}
	got := statusUntil(t, conn, func(s *mirrorpb.StatusResponse) bool { return s.Subscribers[0].Next == 14 })
	if f := got.Subscribers[0]; got.Ledgers != "5-13" || got.Newest != 13 || f.Name != "indexer" || f.Sent != 7 || f.FromStore != 4 {
		t.Errorf("status %v, want 7 sent, 4 of them from the store", got)
	}
	fromNow := follow(t, t.Context(), conn, "other", 0)
	statusUntil(t, conn, func(s *mirrorpb.StatusResponse) bool { return len(s.Subscribers) == 2 })
	s.put(m, 14)
	expect(t, fromNow, 14, 14)
	expect(t, stream, 14, 14)
}

// Ledgers that are stored in descending order, as a follower does when it catches up, are sent in
// ascending order.
func TestWaitsForTheNext(t *testing.T) {
	s := &shelf{stored: history.Set{{From: 5, To: 6}}}
	m, conn := start(t, Config{Store: s})
	stream := follow(t, t.Context(), conn, "indexer", 5)
	expect(t, stream, 5, 6)
	for i := uint32(40); i > 6; i-- {
		s.put(m, i)
	}
	s.put(m, 41)
	expect(t, stream, 7, 41)
}

// A consumer that does not read costs no memory of its own, and misses no ledger when it reads
// again.
func TestSlowConsumer(t *testing.T) {
	const last = 400
	s := &shelf{stored: history.Set{{From: 1, To: 1}}, payload: 8 << 10}
	m, conn := start(t, Config{Store: s, Recent: 4})
	slow, fast := follow(t, t.Context(), conn, "slow", 1), follow(t, t.Context(), conn, "fast", 1)
	expect(t, slow, 1, 1)
	expect(t, fast, 1, 1)
	for i := uint32(2); i <= last; i++ {
		s.put(m, i)
		expect(t, fast, i, i)
	}
	if n := len(m.recent.ledgers); n != 4 {
		t.Errorf("%d ledgers are kept, want 4", n)
	}
	got := statusUntil(t, conn, func(*mirrorpb.StatusResponse) bool { return true })
	if f := got.Subscribers[1]; f.Name != "slow" || f.Next > last-4 {
		t.Fatalf("%v is not slow, so this shows nothing", f)
	}
	expect(t, slow, 2, last)
	got = statusUntil(t, conn, func(s *mirrorpb.StatusResponse) bool { return s.Subscribers[1].Sent == last })
	if f := got.Subscribers[1]; f.FromStore == 0 {
		t.Errorf("%v got nothing from the store", f)
	}
}

// After a hundred streams of one subscriber, each ended in another way, only the last one exists.
func TestRestarts(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := &shelf{stored: history.Set{{From: 1, To: 300}}, payload: 4 << 10}
	t.Run("streams", func(t *testing.T) {
		m, conn := start(t, Config{Store: s})
		var last grpc.ServerStreamingClient[mirrorpb.Ledger]
		for n := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream := follow(t, ctx, conn, "indexer", 1)
			switch n % 4 {
			case 0: // reads all and waits for more
				expect(t, stream, 1, 300)
			case 1: // reads a little, and the next one takes over
				expect(t, stream, 1, 3)
			case 2: // never reads
			case 3: // disconnects
				expect(t, stream, 1, 1)
				cancel()
			}
			if last != nil {
				ended(t, last, codes.Aborted, codes.Canceled)
			}
			last = stream
		}
		// Stream 99 disconnected last.
		ended(t, last, codes.Canceled)
		statusUntil(t, conn, func(s *mirrorpb.StatusResponse) bool { return len(s.Subscribers) == 0 })
		m.running.Wait() // no goroutine of a stream is left while the server runs
		stream := follow(t, t.Context(), conn, "indexer", 299)
		expect(t, stream, 299, 300)
	})
	goleak.VerifyNone(t, before)
}

// ended reads a stream to its end, which must be one of these.
func ended(t *testing.T, stream grpc.ServerStreamingClient[mirrorpb.Ledger], want ...codes.Code) {
	t.Helper()
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) || !slices.Contains(want, status.Code(err)) {
		t.Errorf("the stream ended with %v, want %v", err, want)
	}
}

func TestStop(t *testing.T) {
	s := &shelf{stored: history.Set{{From: 1, To: 1}}}
	m, conn := start(t, Config{Store: s})
	stream := follow(t, t.Context(), conn, "indexer", 1)
	expect(t, stream, 1, 1)
	m.Stop(t.Context())
	ended(t, stream, codes.Unavailable)
}

// A client that does not read does not delay Stop.
func TestStopBesideADeafClient(t *testing.T) {
	s := &shelf{stored: history.Set{{From: 1, To: 300}}, payload: 8 << 10}
	m, conn := start(t, Config{Store: s})
	stream := follow(t, t.Context(), conn, "deaf", 1)
	expect(t, stream, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Stop(ctx)
}

func TestRefuses(t *testing.T) {
	s := &shelf{stored: history.Set{{From: 10, To: 20}}}
	m, conn := start(t, Config{Store: s, Subscribers: 1})
	_, empty := start(t, Config{Store: &shelf{}})
	expect(t, follow(t, t.Context(), conn, "first", 10), 10, 10)
	for _, c := range []struct {
		conn *grpc.ClientConn
		name string
		from uint32
		want codes.Code
		says string
	}{
		{conn, "", 10, codes.InvalidArgument, "name"},
		{conn, strings.Repeat("x", maxName+1), 10, codes.InvalidArgument, "name"},
		{conn, "early", 9, codes.OutOfRange, "before 10"},
		{conn, "second", 10, codes.ResourceExhausted, "1 subscribers"},
		{empty, "first", 0, codes.OutOfRange, "the store is empty"},
	} {
		_, err := follow(t, t.Context(), c.conn, c.name, c.from).Recv()
		if status.Code(err) != c.want || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.20q from %d: %v, want %v that says %q", c.name, c.from, err, c.want, c.says)
		}
	}
	expect(t, follow(t, t.Context(), conn, "first", 20), 20, 20) // a current subscriber may start again
	m.Stop(t.Context())
	if _, err := m.join(t.Context(), &mirrorpb.StartSyncRequest{Subscriber: "late", From: 10}); status.Code(err) != codes.Unavailable {
		t.Errorf("after Stop: %v", err)
	}
}

func TestStandardServices(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := &shelf{stored: history.Set{{From: 1, To: 2}}}
	m, conn := start(t, Config{Store: s, Metrics: registry})
	expect(t, follow(t, t.Context(), conn, "indexer", 1), 1, 2)
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "ledgersync.mirror.v1.Mirror"})
	if err != nil || health.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	if names := reflected(t, conn); !slices.Contains(names, "ledgersync.mirror.v1.Mirror") {
		t.Errorf("reflection lists %v", names)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{"ripple_grpc_server_started_total", "ripple_grpc_server_msg_sent_total", "ripple_grpc_server_handling_seconds", "ripple_mirror_ledgers_sent_total", "ripple_mirror_subscribers"} {
		if !slices.Contains(names, want) {
			t.Errorf("no metric is called %s; there are %v", want, names)
		}
	}
	m.health.Shutdown()
	health, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health of a server that stops: %v, %v", health, err)
	}
}

func reflected(t *testing.T, conn *grpc.ClientConn) (names []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.GetListServicesResponse().Service {
		names = append(names, s.Name)
	}
	return names
}
