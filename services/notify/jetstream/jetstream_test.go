package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dyno/parts/wal"
	"dyno/services/notify/jetstream/natstest"
)

// batch is n records, the first of them of number i.
func batch(i, n int) [][]byte {
	var b [][]byte
	for k := range n {
		b = append(b, fmt.Appendf(nil, "record %d", i+k))
	}
	return b
}

func mustWrite(t *testing.T, s *store, i, n int) {
	t.Helper()
	if err := s.Write([][][]byte{batch(i, n)}); err != nil {
		t.Fatal(err)
	}
}

// mustHold holds that the log has the records that batch makes, up to next.
func mustHold(t *testing.T, s *store, next int) {
	t.Helper()
	first, n := s.Bounds()
	at := int(first)
	err := s.Scan(first, func(seq uint64, record []byte) error {
		if seq != uint64(at) || string(record) != fmt.Sprintf("record %d", at) {
			t.Fatalf("record %d came as %d: %q", at, seq, record)
		}
		at++
		return nil
	})
	if err != nil || at != next || n != uint64(next) {
		t.Fatalf("scan ended before %d, the next is %d, want %d: %v", at, n, next, err)
	}
}

// Of two writers the one that comes second fails, for good, and nothing of it is stored.
func TestSecondWriterFencesFirst(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	for _, n := range []int{1, 3} { // published alone, and as an atomic batch
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := Config{URL: url, Stream: fmt.Sprintf("fence%d", n)}
			first := mustOpen(t, c)
			mustWrite(t, first, 1, 5)
			second := mustOpen(t, c)
			mustWrite(t, second, 6, n)
			err := first.Write([][][]byte{batch(100, n)})
			if !errors.Is(err, wal.ErrFailed) || !strings.Contains(err.Error(), "written by another") {
				t.Fatalf("the first writer was not told: %v", err)
			}
			for name, do := range map[string]func() error{
				"Write": func() error { return first.Write([][][]byte{batch(100, 1)}) },
				"Sync":  first.Sync,
				"Trim":  func() error { return first.Trim(3) },
			} {
				if err := do(); !errors.Is(err, wal.ErrFailed) {
					t.Errorf("%s of a writer that was fenced: %v", name, err)
				}
			}
			mustWrite(t, second, 6+n, 2)
			mustHold(t, second, 8+n)
			mustHold(t, mustOpen(t, c), 8+n)
		})
	}
}

// An answer that was lost does not store anything twice.
func TestLostAnswer(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	for _, n := range []int{1, 3} {
		s := mustOpen(t, Config{URL: url, Stream: fmt.Sprintf("answer%d", n)})
		mark := s.writer + "-1" // of the first unit
		if err := s.publish(t.Context(), batch(1, n), 0, mark); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, s, 1, n)
		mustHold(t, s, n+1)
	}
}

// What was given up and stored nevertheless fails the log, as it cannot be taken back.
func TestStoredAfterGivenUp(t *testing.T) {
	s := mustOpen(t, Config{URL: serve(t, t.TempDir()).URL})
	mustWrite(t, s, 1, 1)
	if err := s.publish(t.Context(), batch(2, 2), 1, s.writer+"-2"); err != nil {
		t.Fatal(err)
	}
	s.doubt = true
	if err := s.Write([][][]byte{batch(2, 1)}); !errors.Is(err, wal.ErrFailed) {
		t.Fatalf("went on: %v", err)
	}
}

func TestServerRestarts(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	s := mustOpen(t, Config{URL: first.URL})
	mustWrite(t, s, 1, 10)
	first.Stop()

	// No server there: an error after Timeout, and the log has not failed.
	s.Timeout = 300 * time.Millisecond
	err := s.Write([][][]byte{batch(11, 2)})
	if err == nil || errors.Is(err, wal.ErrFailed) || errors.Is(err, wal.ErrFull) {
		t.Fatalf("without a server: %v", err)
	}
	if err := s.Scan(1, func(uint64, []byte) error { return nil }); err == nil {
		t.Fatal("scanned without a server")
	}

	// A write that began before the server is back waits for it.
	s.Timeout = time.Minute
	written := make(chan error, 1)
	go func() { written <- s.Write([][][]byte{batch(11, 2)}) }()
	second := natstest.Start(t, natstest.Options{Dir: dir, Port: first.Port(t)})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, 13)
	mustHold(t, mustOpen(t, Config{URL: second.URL}), 13)
}

// Close ends what waits for a server.
func TestCloseEndsWrite(t *testing.T) {
	server := serve(t, t.TempDir())
	s := mustOpen(t, Config{URL: server.URL, Timeout: time.Hour})
	server.Stop()
	written := make(chan error)
	go func() { written <- s.Write([][][]byte{batch(1, 1)}) }()
	s.Close()
	if err := <-written; !errors.Is(err, wal.ErrClosed) {
		t.Fatal(err)
	}
}

// The limits are the server's, whether they are set or its defaults.
func TestTooLarge(t *testing.T) {
	plain := natstest.Start(t, natstest.Options{})
	if s := mustOpen(t, Config{URL: plain.URL}); s.maxBatch.Load() != defaultMaxBatch {
		t.Errorf("a batch may have %d records; the server allows %d", s.maxBatch.Load(), defaultMaxBatch)
	}
	s := mustOpen(t, Config{URL: serve(t, t.TempDir()).URL})
	for name, b := range map[string][][]byte{
		"records": make([][]byte, 20_001),
		"bytes":   {[]byte("small"), make([]byte, 8<<20)},
	} {
		for how, err := range map[string]error{"Write": s.Write([][][]byte{batch(1, 1), b}), "Admit": s.Admit(b)} {
			if !errors.Is(err, wal.ErrTooLarge) {
				t.Errorf("%s: %s: %v", name, how, err)
			}
		}
	}
	mustWrite(t, s, 1, 1)
	mustHold(t, s, 2)
}

// Servers that are restarted with a lower limit get smaller units.
func TestLimitLowered(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	s := mustOpen(t, Config{URL: first.URL})
	mustWrite(t, s, 1, 1)
	first.Stop()
	natstest.Start(t, natstest.Options{Dir: dir, Port: first.Port(t), MaxBatch: 5})
	var group [][][]byte
	for i := range 12 {
		group = append(group, batch(i+2, 1))
	}
	if err := s.Write(group); !errors.Is(err, wal.ErrTooLarge) {
		t.Fatal(err)
	}
	if err := s.Write(group); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, 14)
}

// A group larger than one atomic batch is stored in its order.
func TestGroupOfManyUnits(t *testing.T) {
	s := mustOpen(t, Config{URL: serve(t, t.TempDir()).URL})
	s.maxBatch.Store(10)
	group := [][][]byte{batch(1, 1), batch(2, 8), batch(10, 10), batch(20, 2), batch(22, 9), batch(31, 1)}
	if err := s.Write(group); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, 32)
	if s.units != 4 {
		t.Fatalf("%d units, want 4: batches that fit are joined, none is divided", s.units)
	}
}

// A stream that refuses more is a full disk, until something is trimmed.
func TestFull(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	s := mustOpen(t, Config{URL: url})
	limit(t, s, func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 })
	mustWrite(t, s, 1, 8)
	for _, n := range []int{3, 5} {
		if err := s.Write([][][]byte{batch(9, n)}); !errors.Is(err, wal.ErrFull) {
			t.Fatalf("%d more: %v", n, err)
		}
	}
	mustHold(t, s, 9)
	if err := s.Trim(6); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s, 9, 3)
	mustHold(t, s, 12)
}

// A server without room may store a part of a batch. The log is not opened on that: the part of a
// batch would pose as the whole. The server's next start, with room, stores the rest.
func TestBatchStoredInPart(t *testing.T) {
	dir := t.TempDir()
	small := natstest.Start(t, natstest.Options{Dir: dir, MaxStore: 100 << 10})
	s := mustOpen(t, Config{URL: small.URL})
	next, err := 1, error(nil)
	for ; err == nil && next < 10_000; next += 300 {
		err = s.Write([][][]byte{batch(next, 300)})
	}
	if !errors.Is(err, wal.ErrFull) {
		t.Fatalf("writing up to %d: %v", next, err)
	}
	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := int(info.State.LastSeq); last+1 <= next-300 || last+1 >= next {
		t.Fatalf("the stream ends at %d: no part of a batch", last)
	}
	if err := s.placed(t.Context(), uint64(next-301), 300, s.writer+"-"+fmt.Sprint(s.units)); !errors.Is(err, errPartial) {
		t.Errorf("a part of a batch is taken for the whole: %v", err)
	}
	if err := s.Write([][][]byte{batch(next, 1)}); !errors.Is(err, wal.ErrFailed) {
		t.Errorf("went on behind a part of a batch: %v", err)
	}
	again, err := open(t.Context(), Config{URL: small.URL, Stream: "notices", Timeout: 5 * time.Second})
	if err == nil {
		again.Close()
	}
	if !errors.Is(err, errPartial) {
		t.Fatalf("opening it again: %v", err)
	}
	small.Stop()
	mustHold(t, mustOpen(t, Config{URL: serve(t, dir).URL}), next)
}

func limit(t *testing.T, s *store, change func(*jetstream.StreamConfig)) {
	t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	c := s.wanted()
	change(&c)
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestUnfitStreamsAreRefused(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		"memory":   {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "kept in memory"},
		"age":      {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "expire"},
		"drops":    {func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 10, jetstream.DiscardOld }, "drops old messages"},
		"single":   {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "--allow-batch"},
		"indirect": {func(c *jetstream.StreamConfig) { c.AllowDirect = false }, "--allow-direct"},
		"consumed": {func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "vanish"},
		"lazy": {func(c *jetstream.StreamConfig) {
			c.PersistMode, c.AllowAtomicPublish = jetstream.AsyncPersistMode, false
		}, "persist mode"},
		"subjects": {func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "else") }, "are not only"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{Config: Config{Stream: name, Subject: name, Replicas: 1}}
			c := s.wanted()
			tt.change(&c)
			if _, err := js.CreateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b, err := Open(t.Context(), Config{URL: url, Stream: name})
			if err == nil {
				b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Records are spread over subjects, and reading leaves nothing behind on the server.
func TestPartitions(t *testing.T) {
	s := mustOpen(t, Config{
		URL: serve(t, t.TempDir()).URL, Subject: "orders", Partitions: 3,
		Partition: func(record []byte) uint32 { return uint32(record[len(record)-1]) },
	})
	mustWrite(t, s, 1, 9)
	mustWrite(t, s, 10, 1)
	mustHold(t, s, 11)
	info, err := s.stream.Info(t.Context(), jetstream.WithSubjectFilter("orders.>"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{"orders.0": 4, "orders.1": 3, "orders.2": 3} // '0' is 48, and divides by 3
	if fmt.Sprint(info.State.Subjects) != fmt.Sprint(want) {
		t.Errorf("messages by subject: %v, want %v", info.State.Subjects, want)
	}
	if info.State.Consumers != 0 {
		t.Errorf("%d consumers were left", info.State.Consumers)
	}
	if n := s.nc.NumSubscriptions(); n > 1 { // that of answers to requests
		t.Errorf("%d subscriptions were left", n)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {URL: "nats://127.0.0.1:1"}, {Stream: "s"}} {
		if _, err := Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), "are needed") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := Open(context.Background(), Config{URL: "nats://127.0.0.1:1", Stream: "s"}); !errors.Is(err, nats.ErrNoServers) {
		t.Errorf("without a server: %v", err)
	}
}
