// Package peers connects the nodes of a chain over WebSockets. Both ends of a connection prove
// their IDs, which are the public halves of their keys, by TLS 1.3, and must be permitted by the
// other; then they compare their chains. It carries notes, which may be dropped, and requests with
// their answers.
//
// What waits for a peer is bounded: a slow one loses messages, which are counted, and holds up no
// other. A peer that breaks the rules is disconnected, blamed by its ID in the log and in Peers,
// and may connect again only after a while that doubles each time.
//
// It is not for what the messages say (packages cluster, raft), nor for finding peers:
// they are configured. Run owns all goroutines: two a connection, and one for each request that is
// answered.
package peers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Errors that callers branch on.
var (
	// ErrGone means that the peer is not connected, or not any more.
	ErrGone = errors.New("the peer is not connected")
	// ErrFull means that too much waits for the peer, or for all peers: the message was dropped.
	ErrFull = errors.New("too many messages wait for the peer")
	// ErrBusy means that the peer answers as many requests as it may.
	ErrBusy = errors.New("the peer is busy")
)

// Offence is the error of a handler when a peer breaks the rules: it is disconnected and blamed.
type Offence struct{ Err error }

func (o *Offence) Error() string { return o.Err.Error() }
func (o *Offence) Unwrap() error { return o.Err }

// Offencef makes an Offence.
func Offencef(format string, args ...any) error { return &Offence{fmt.Errorf(format, args...)} }

// Note handles a message that is not answered. The peer's next one waits for it. The body is valid
// during the call only, and ctx ends with the connection. An error ends the connection.
type Note func(ctx context.Context, from ID, body []byte) error

// Answer handles a request. Any number of them run concurrently. The text of its error is the
// peer's. The body is valid during the call only, and ctx ends with the connection.
type Answer func(ctx context.Context, from ID, body []byte) ([]byte, error)

// Options of a Network.
type Options struct {
	Key       Key
	Addresses []Address   // of peers, which are dialled
	Permitted []ID        // of peers besides those: they dial, or have an address without an ID
	Chain     uint64      // its id
	Genesis   common.Hash // of block 0
	Log       *slog.Logger

	Dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: net.Dialer's
}

// Bounds of a network.
const (
	maxMessage = 64 << 20         // bytes: a checkpoint of raft with all that waits
	patience   = 10 * time.Second // for a handshake, a write, and a silent peer
)

// Network is a node's connections. Any goroutine may use it.
type Network struct {
	o     Options
	id    ID
	tls   *tls.Config
	hello greeting
	load  load

	maxMessage int // the constants of these names; tests have others
	patience   time.Duration

	notes    map[Kind]Note // what is set before Run: it never changes then
	answers  map[Kind]Answer
	watchers []func(id ID, connected bool)

	buffers sync.Pool // *bytes.Buffer, for what is read
	users   sync.WaitGroup

	mu      sync.Mutex
	records map[ID]*record  // of all that are permitted
	changed chan struct{}   // closed when a peer has gone
	ctx     context.Context // of Run; nil: it does not run
}

// New returns a network, which Run starts. An error is one of the configuration.
func New(o Options) (*Network, error) {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	n := &Network{
		o: o, id: o.Key.ID(), hello: greeting{Version: version, Chain: o.Chain, Genesis: o.Genesis}, maxMessage: maxMessage, patience: patience,
		notes: map[Kind]Note{}, answers: map[Kind]Answer{}, records: map[ID]*record{}, changed: make(chan struct{}),
	}
	n.buffers.New = func() any { return new(bytes.Buffer) }
	n.load.alarm = n.alarm
	for _, a := range o.Addresses {
		if a.ID != (ID{}) {
			o.Permitted = append(o.Permitted[:len(o.Permitted):len(o.Permitted)], a.ID)
		}
	}
	for _, id := range o.Permitted {
		if id == n.id {
			return nil, fmt.Errorf("%v is the id of this node: name its peers only", id)
		}
		n.records[id] = &record{}
	}
	if len(n.records) == 0 && len(o.Addresses) > 0 {
		return nil, fmt.Errorf("no peer is permitted: name the peer at %s by its id, as ID@%[1]s with the id that its key has", o.Addresses[0].Host)
	}
	var err error
	n.tls, err = o.Key.TLS(n.permit)
	return n, err
}

// permit is the allow-list.
func (n *Network) permit(id ID) error {
	if _, ok := n.records[id]; !ok { // the map's keys never change
		return fmt.Errorf("the node %v is not permitted here: name it among the peers", id)
	}
	return nil
}

func (n *Network) alarm(on bool, stalled int64) {
	if on {
		n.o.Log.Error("many peers do not keep up with this node, so its own connection may be the cause", "stalled", stalled, "limit", alarmStalled)
		return
	}
	n.o.Log.Info("few peers are stalled again", "stalled", stalled)
}

// Handle sets the handler of a kind of notes, before Run.
func (n *Network) Handle(kind Kind, do Note) { n.notes[kind] = do }

// Serve sets the handler of a kind of requests, before Run.
func (n *Network) Serve(kind Kind, do Answer) { n.answers[kind] = do }

// Watch has do called when a peer is connected and when it is not any more, in turn. It is for
// before Run.
func (n *Network) Watch(do func(id ID, connected bool)) { n.watchers = append(n.watchers, do) }

func (n *Network) tell(id ID, connected bool) {
	for _, do := range n.watchers {
		do(id, connected)
	}
}

// ID is that of this node.
func (n *Network) ID() ID { return n.id }

// Run accepts connections and dials, until ctx ends; a nil listener accepts none. It returns when
// all connections have ended.
func (n *Network) Run(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	n.ctx = ctx
	n.mu.Unlock()
	for _, a := range n.o.Addresses {
		n.users.Go(func() { n.keep(ctx, a) })
	}
	var err error
	if l != nil {
		err = n.accept(ctx, l)
	} else {
		<-ctx.Done()
	}
	n.mu.Lock()
	cancel()
	n.mu.Unlock() // from now on no connection is taken
	n.users.Wait()
	return err
}

// Send queues a note for a peer.
func (n *Network) Send(to ID, kind Kind, body []byte) error {
	p := n.peer(to)
	if p == nil {
		return ErrGone
	}
	return p.send(message{form: note, kind: kind, body: body})
}

// Broadcast queues a note for all connected peers but one.
func (n *Network) Broadcast(kind Kind, body []byte, but ID) {
	var all []*peer
	n.mu.Lock()
	for id, r := range n.records {
		if r.peer != nil && id != but {
			all = append(all, r.peer)
		}
	}
	n.mu.Unlock()
	if len(all) == 0 {
		return
	}
	f := newFrame(message{form: note, kind: kind, body: body})
	defer f.release()
	for _, p := range all {
		_ = p.queue.put(f) // what is dropped is counted
	}
}

// Blame disconnects a peer for what it has done, if it is connected.
func (n *Network) Blame(id ID, why error) {
	if p := n.peer(id); p != nil {
		p.end(&Offence{why})
	}
}

// Permitted lists all peers that may connect.
func (n *Network) Permitted() []ID { return slices.Collect(maps.Keys(n.records)) }

// Connected lists the connected peers.
func (n *Network) Connected() (ids []ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, r := range n.records {
		if r.peer != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (n *Network) peer(id ID) *peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.records[id]; r != nil {
		return r.peer
	}
	return nil
}
