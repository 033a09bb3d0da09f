// Package fleet joins several game servers, each called a node. Every node has a NATS server
// inside, and these connect to one another. Over them a node announces its rooms and their players,
// so that each node has a directory of all; players are matched into rooms of other nodes; and chat
// passes.
//
// A node that dies takes only its own rooms with it, and after three beats without an announcement
// the others drop it from the directory. No state of the game passes here: a client connects to the
// node that owns its room.
//
// It is not for storing anything (what a node knows of others it forgets when they are silent), nor
// for the rooms themselves. The goroutines are those of NATS and one that announces; Close ends
// them.
package fleet

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dyno/services/arena/match"
)

// Beats of a node. The silence that drops it is Options.Beat times silence.
const (
	beat    = time.Second
	silence = 3
)

// Bounds of what a node may have and send.
const (
	MaxNodes   = 64
	MaxRooms   = 1000    // of a node; further ones are not announced
	MaxNames   = 2000    // of a node's players; further ones are not announced
	maxPayload = 1 << 20 // bytes: an announcement with all of these fits
	maxID      = 64      // bytes of a name of a node, room or topic
	maxURL     = 256     // bytes
)

// Options of a Fleet.
type Options struct {
	Node    string        // its name, which no other node has
	URL     string        // at which clients reach it, as https://eu-1.example.com
	Cluster string        // HOST:PORT at which other nodes connect
	Routes  []string      // HOST:PORT of other nodes; one that runs is enough to find the rest
	Secret  []byte        // what all nodes share, and no other program has: 32 bytes or more
	Beat    time.Duration // from one announcement to the next

	Rooms func() []Room // of this node
	Match match.Rooms   // of this node
	Log   *slog.Logger
}

// Fleet is this node's part in the fleet. It is a match.Rooms that has the rooms of all nodes.
type Fleet struct {
	o      Options
	run    string // differs from that of an earlier process of the same name
	door   *door
	nats   *server.Server
	conn   *nats.Conn
	rate   chatRate
	change chan struct{} // an announcement is due

	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node // by name; without this one
	stats Stats
}

var _ match.Rooms = (*Fleet)(nil)

// Stats are gauges and counters.
type Stats struct {
	Nodes     int    // that are known, with this one
	Malformed uint64 // messages that could not be read
	Dropped   uint64 // chat messages, by a rate
}

// Start starts the NATS server and joins the nodes that it can reach. Nodes that start later are
// found then. The context bounds starting only.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := &Fleet{o: o, run: rand.Text(), change: make(chan struct{}, 1), nodes: map[string]*node{}, rate: newChatRate()}
	known := password(rand.Text())
	var err error
	if f.door, err = open(o); err != nil {
		return nil, err
	}
	if f.nats, err = startServer(ctx, o, known, f.door.address(o.Routes)); err != nil {
		f.door.close()
		return nil, fmt.Errorf("starting the NATS server of node %s at %s: %w", o.Node, o.Cluster, err)
	}
	f.door.lead(f.nats.ClusterAddr().String(), o)
	if err := f.connect(known); err != nil {
		f.end()
		return nil, fmt.Errorf("connecting to the NATS server inside: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.tasks.Go(func() { f.beat(running) })
	return f, nil
}

func (f *Fleet) connect(known password) (err error) {
	f.conn, err = nats.Connect("", nats.InProcessServer(f.nats), nats.UserInfo(f.o.Node, string(known)), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			f.o.Log.Warn("messages of other nodes are lost", "subject", subject(s), "error", err)
		}))
	if err != nil {
		return err
	}
	for subject, receive := range map[string]nats.MsgHandler{
		announcements:           f.receiveAnnouncement,
		reservations + f.o.Node: f.receiveReservation,
	} {
		if _, err := f.subscribe(subject, receive); err != nil {
			return err
		}
	}
	return f.conn.Flush()
}

func subject(s *nats.Subscription) string {
	if s == nil {
		return ""
	}
	return s.Subject
}

// subscribe bounds what waits for a handler; NATS drops what is more.
func (f *Fleet) subscribe(subject string, receive nats.MsgHandler) (*nats.Subscription, error) {
	s, err := f.conn.Subscribe(subject, receive)
	if err == nil {
		err = s.SetPendingLimits(1024, 16*maxPayload)
	}
	return s, err
}

// Close says goodbye to the other nodes and ends the NATS server. It is called once.
func (f *Fleet) Close() {
	f.stop()
	f.tasks.Wait()
	f.publish(announcements, announcement{Node: f.o.Node, Run: f.run, Gone: true})
	_ = f.conn.FlushTimeout(time.Second) // a goodbye that is lost is one that comes after three beats
	f.end()
}

func (f *Fleet) end() {
	if f.conn != nil {
		f.conn.Close()
	}
	f.nats.Shutdown()
	f.nats.WaitForShutdown()
	f.door.close()
}

// Addr is where other nodes connect.
func (f *Fleet) Addr() string { return f.door.listener.Addr().String() }

// Stats returns the figures of now.
func (f *Fleet) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Nodes = 1
	for range f.alive() {
		s.Nodes++
	}
	return s
}
