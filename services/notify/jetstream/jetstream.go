// Package jetstream keeps the records of a wal.Log in a stream of NATS JetStream, so that they
// outlive the machine: a record is a message, its number is the message's sequence in the stream.
//
//	records, err := jetstream.Open(ctx, jetstream.Config{URL: "nats://a,nats://b,nats://c", Stream: "notices", Replicas: 3})
//
// There is one writer at a time. Every write says where it expects the stream to end, so that of
// two which have the same stream open the one that comes second fails (wal.ErrFailed) and nothing
// interleaves. A group of records is published as one atomic batch, which takes nats-server 2.12 or
// later.
//
// A record is as durable as the servers make it: after a power failure of all of them that depends
// on their setting sync_interval, which clients cannot read
// (docs/how-to/notifyd-several-machines.md).
//
// It is not a queue of NATS's: no consumer is made, and who else reads the stream must not delete
// from it.
//
// The goroutines are those of the NATS connection; Close ends them.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"dyno/parts/redact"
	"dyno/parts/wal"
)

// Config says where the stream is. URL and Stream are required; the zero value of the rest is the
// documented default.
type Config struct {
	URL    string // of one server or more, separated by commas
	Stream string // name; made when it is missing
	// Subject is what the subjects of the messages begin with; a dot and the partition follow. "":
	// Stream
	Subject string
	// Partitions is over how many subjects records are spread, so that a consumer of NATS's may take
	// some of them. 0: 1
	Partitions int
	// Partition returns a number that is equal for records whose order matters to such a consumer; its
	// remainder by Partitions is the partition. nil: all are equal.
	Partition   func(record []byte) uint32
	Replicas    int    // of a stream that is made; 0: 1
	Credentials string // file; "": none
	// Timeout is how long a call tries again while servers cannot be reached or elect a leader. 0: 30
	// s
	Timeout time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" || c.Stream == "" {
		return c, errors.New("jetstream: both the URL of a server and the name of a stream are needed")
	}
	if c.Subject == "" {
		c.Subject = c.Stream
	}
	if c.Partitions <= 0 || c.Partition == nil {
		c.Partitions, c.Partition = 1, func([]byte) uint32 { return 0 }
	}
	if c.Replicas <= 0 {
		c.Replicas = 1
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second // an election takes 4 to 9 s
	}
	return c, nil
}

// attempt is how long one request is waited for before it is made again: an fsync on a slow disk
// takes less.
const attempt = 5 * time.Second

// store is a wal.Backend.
type store struct {
	Config
	nc       *nats.Conn
	stream   jetstream.Stream
	subjects []string     // by partition
	maxBytes int64        // of a message, as the server told
	maxBatch atomic.Int64 // messages of an atomic batch, as the server told
	ctx      context.Context
	stop     context.CancelFunc
	scans    sync.WaitGroup
	closing  sync.Mutex // held to begin a scan or a write, and by Close

	first, next atomic.Uint64
	size        atomic.Int64

	// Of the goroutine that writes:
	writer  string // marks the messages of this one
	units   uint64 // published so far
	failed  error  // no more can be written until the log is opened again
	doubt   bool   // whether what was written last is stored is not known; nothing was acknowledged since
	trimmed uint64 // up to where the stream was purged
}

var _ wal.Limited = (*store)(nil)

// Open connects and finds the stream, or makes it. The context bounds opening only.
func Open(ctx context.Context, c Config) (wal.Backend, error) { return open(ctx, c) }

func open(ctx context.Context, c Config) (*store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	nc, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("jetstream: connecting to %s: %w", redact.Text(c.URL), err)
	}
	s := &store{Config: c, nc: nc, writer: nuid.Next(), maxBytes: nc.MaxPayload() - headerRoom}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for p := range c.Partitions {
		s.subjects = append(s.subjects, fmt.Sprintf("%s.%d", c.Subject, p))
	}
	if err := s.persist(ctx, s.find); err != nil {
		s.Close()
		return nil, fmt.Errorf("jetstream: stream %s at %s: %w", c.Stream, c.URL, err)
	}
	return s, nil
}

func connect(c Config) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("log of " + c.Stream),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		// A publish while there is no connection fails immediately, instead of being sent later, when its
		// caller has given up.
		nats.ReconnectBufSize(-1),
		// A machine that vanished is noticed after three pings.
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(2),
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	return nats.Connect(c.URL, options...)
}

// Sync has nothing to do: what Write returned from was acknowledged by the servers.
func (s *store) Sync() error {
	if s.ctx.Err() != nil {
		return wal.ErrClosed
	}
	return s.failed
}

func (s *store) Bounds() (first, next uint64) {
	first = s.first.Load() // before next, so that it is never the larger
	return first, s.next.Load()
}

// Size is what the stream takes on each server, as it was when it was opened or last trimmed, and
// what was written since.
func (s *store) Size() int64 { return s.size.Load() }

// Trim purges the stream.
func (s *store) Trim(before uint64) error {
	done, err := s.begin()
	if err != nil {
		return err
	}
	defer done()
	if s.failed != nil {
		return s.failed // another may write to the stream, and knows what to keep
	}
	before = min(before, s.next.Load())
	if before <= max(s.trimmed, 1) {
		return nil
	}
	// Before it is so, lest a scan takes what is purged for damaged.
	s.first.Store(max(s.first.Load(), before))
	err = s.persist(s.ctx, func(ctx context.Context) error {
		if err := s.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
			return err
		}
		info, err := s.stream.Info(ctx)
		if err == nil {
			s.size.Store(int64(info.State.Bytes))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("jetstream: purging stream %s before %d: %w", s.Stream, before, err)
	}
	s.trimmed = before
	return nil
}

// begin keeps Close from closing the connection until done is called.
func (s *store) begin() (done func(), err error) {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.ctx.Err() != nil {
		return nil, wal.ErrClosed
	}
	s.scans.Add(1)
	return s.scans.Done, nil
}

// Close ends what is under way with an error and closes the connection.
func (s *store) Close() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.ctx.Err() != nil {
		return wal.ErrClosed
	}
	s.stop()
	s.scans.Wait()
	s.nc.Close()
	return nil
}

// persist makes a request until it is answered, for Timeout at most. An answer that another try
// would not change ends it.
func (s *store) persist(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		once, end := context.WithTimeout(ctx, attempt)
		err := request(once)
		end()
		if err == nil || !passing(err) {
			return err
		}
		if !wait(ctx, pause) {
			if s.ctx.Err() != nil {
				return wal.ErrClosed
			}
			return fmt.Errorf("not within %v: %w", s.Timeout, err)
		}
	}
}

// wait waits, and reports whether there is time left.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
