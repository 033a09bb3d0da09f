package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/freeport"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/proxy"
	"dyno/services/chain/peers"
)

// Faults that Nodes injects.
var Faults = []string{"partition", "leader", "follower", "join", "slow", "lie"}

// A network has three nodes. One of them joins late.
const (
	size   = 3
	joiner = size - 1
)

// Several is the result of Nodes, which fails if anything was lost or changed, or if the nodes do
// not have one chain.
type Several struct {
	Networks     int
	Injected     map[string]int // by fault
	Acknowledged int            // transactions, each of them mined once on every node
	Unanswered   int            // transactions that were mined although their answer was lost
	Seen         int            // receipts that were read before a fault, none of which changed
	Blocks       int            // the same on all nodes, and executed by go-ethereum
	Restarts     int
	Dropped      int // messages that a queue did not take, since 128 waited for a slow peer
	Queued       int // the most messages that waited for one peer
	Lies         int // answers of the liar
	Blamed       int // how often it was found out
	Gap          time.Duration
}

func (s Several) String() string {
	var faults []string
	for _, f := range Faults {
		faults = append(faults, fmt.Sprintf("%s %d", f, s.Injected[f]))
	}
	return fmt.Sprintf("%d networks, faults: %s; %d restarts: %d acknowledged transactions mined once on every node, and %d unanswered ones; %d receipts seen before and unchanged; %d blocks alike on all nodes and executed by go-ethereum; at most %d messages waited for a peer, and %d were dropped; %d lies, blamed %d times; the longest time without an acknowledgement was %v",
		s.Networks, strings.Join(faults, ", "), s.Restarts, s.Acknowledged, s.Unanswered, s.Seen, s.Blocks, s.Queued, s.Dropped, s.Lies, s.Blamed, s.Gap.Round(time.Millisecond))
}

// Nodes runs networks of nodes that agree by raft, with senders that send to any of them, and
// injects faults in a random order. Every acknowledged transaction must be mined once without being
// sent again, no receipt may change, and in the end all nodes have the same blocks, the check finds
// nothing, and go-ethereum executes the chain.
func Nodes(t *testing.T, p Program, networks int, faults []string, seed uint64) Several {
	s := &several{random: rand.New(rand.NewPCG(seed, 0))}
	s.Injected = map[string]int{}
	for n := range networks {
		t.Run(fmt.Sprint("network ", n+1), func(t *testing.T) {
			s.t = t
			s.network(p, faults)
			s.Networks++
			t.Log(s.Several)
		})
	}
	return s.Several
}

// several is a network under load.
type several struct {
	Several
	t      *testing.T
	random *rand.Rand // of the faults' goroutine alone
	nodes  []*member
	keys   [size]peers.Key
	ways   [size][size]*proxy.Proxy // from the first to the second
	load   *load
	joined bool
}

// network runs one network through the faults.
func (s *several) network(p Program, faults []string) {
	s.build(p)
	order := slices.Clone(faults)
	s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	late := slices.Index(order, "join")
	s.joined = late < 0
	if early := s.random.IntN(2); late > early { // two nodes bear no fault: most should meet three
		order[late], order[early] = order[early], order[late]
	}
	if lie := slices.Index(order, "lie"); lie >= 0 && lie < slices.Index(order, "join") {
		order[0], order[1] = order[1], order[0]
	}
	for _, m := range s.live() {
		m.start(s.t)
	}
	s.leader()
	s.load = newLoad(s.random, s.live()...)
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	for _, from := range s.load.senders {
		sending.Go(func() { from.run(ctx) })
	}
	stop := func() {
		cancel()
		sending.Wait()
	}
	s.t.Cleanup(stop) // also after a failure
	for _, f := range order {
		s.goesOn("the network works before " + f)
		s.pause(500 * time.Millisecond)
		s.t.Logf("fault: %s", f)
		map[string]func(){
			"partition": s.partition, "leader": s.leaderKilled, "follower": s.followerKilled, "join": s.join, "slow": s.slow, "lie": s.lie,
		}[f]()
		s.Injected[f]++
		s.goesOn("the network works again after " + f)
		s.load.look(s.t, s.random, s.live())
	}
	stop()
	s.Gap = max(s.Gap, s.load.gap)
	s.prove(p)
}

// build makes the keys, addresses and ways of a network.
func (s *several) build(p Program) {
	t := s.t
	dir := t.TempDir()
	s.nodes = nil
	addresses, err := freeport.Loopback(3 * size) // a node has them again after it was killed
	if err != nil {
		t.Fatal(err)
	}
	for i := range size {
		s.keys[i] = peers.NewKey()
	}
	for i := range size {
		file := filepath.Join(dir, fmt.Sprint(i, ".key"))
		if err := s.keys[i].Write(file); err != nil {
			t.Fatal(err)
		}
		listen, debug := addresses[size+i].String(), addresses[2*size+i].String()
		m := &member{name: i, peers: addresses[i].String(), data: filepath.Join(dir, fmt.Sprint(i)), url: "http://" + listen, debug: "http://" + debug}
		m.command = append([]string{
			p.Path, "serve", "--listen", listen, "--debug", debug, "--data", m.data, "--lame-duck=0s", "--log-level=warn",
			"--consensus=raft", "--node-key", file, "--peer-listen", m.peers, "--set=seal=timer",
		}, p.Serve...)
		for j := range size {
			if j != i {
				s.ways[i][j] = proxy.New(t, addresses[j].String())
				m.command = append(m.command, "--peer", peers.Address{ID: s.keys[j].ID(), Host: s.ways[i][j].Addr()}.String())
			}
		}
		s.nodes = append(s.nodes, m)
	}
}

// live is the nodes that have joined.
func (s *several) live() []*member {
	if s.joined {
		return s.nodes
	}
	return s.nodes[:joiner]
}

// pause lasts for a random time, in which the progress of the nodes is random.
func (s *several) pause(most time.Duration) { time.Sleep(time.Duration(s.random.Int64N(int64(most)))) }

// goesOn waits until a transaction is acknowledged.
func (s *several) goesOn(what string) {
	s.t.Helper()
	before := s.load.count()
	servicetest.Await(s.t, func() string {
		var pages []string
		for _, m := range s.live() {
			pages = append(pages, fmt.Sprintf("node %d: %s", m.name, m.page("/readyz")))
		}
		return what + ": " + strings.Join(pages, "; ")
	}, func() bool { return s.load.count() > before })
}

// leader waits for a node that leads.
func (s *several) leader() (found *member) {
	s.t.Helper()
	servicetest.Await(s.t, func() string { return "a leader" }, func() bool {
		for _, m := range s.live() {
			if m.status().Leads {
				found = m
			}
		}
		return found != nil
	})
	return found
}

// follower returns a random node that does not lead.
func (s *several) follower() *member {
	leader := s.leader()
	others := slices.DeleteFunc(slices.Clone(s.live()), func(m *member) bool { return m == leader })
	return others[s.random.IntN(len(others))]
}

// links returns the ways between a node and all others.
func (s *several) links(m *member) (all []*proxy.Proxy) {
	for i := range size {
		if i != m.name {
			all = append(all, s.ways[i][m.name], s.ways[m.name][i])
		}
	}
	return all
}

// follows waits until a node has the head that another has now.
func (s *several) follows(m *member) {
	s.t.Helper()
	head := uint64(0)
	for _, other := range s.live() {
		if number, err := other.head(); err == nil {
			head = max(head, number)
		}
	}
	servicetest.Await(s.t, func() string {
		number, err := m.head()
		return fmt.Sprintf("block %d of node %d, which is at %d (%v): %s", head, m.name, number, err, m.page("/debug/chain/peers"))
	}, func() bool {
		number, err := m.head()
		return err == nil && number >= head
	})
}

// partition parts a node from the others for a while.
func (s *several) partition() {
	m := s.live()[s.random.IntN(len(s.live()))]
	how := []func(*proxy.Proxy){(*proxy.Proxy).Refuse, (*proxy.Proxy).Hold, (*proxy.Proxy).Silence}[s.random.IntN(3)]
	for _, way := range s.links(m) {
		how(way)
	}
	s.pause(3 * time.Second)
	for _, way := range s.links(m) {
		way.Pass()
	}
	s.follows(m)
}

func (s *several) leaderKilled()   { s.killed(s.leader()) }
func (s *several) followerKilled() { s.killed(s.follower()) }

func (s *several) killed(m *member) {
	m.p.Kill()
	s.pause(2 * time.Second)
	m.start(s.t)
	s.Restarts++
	s.follows(m)
}

// restarted stops and starts nodes one after the other, in good order: each makes a checkpoint, and
// drops the entries before it.
func (s *several) restarted(all []*member) {
	for _, m := range all {
		m.stop(s.t)
		m.start(s.t)
		s.Restarts++
		s.goesOn(fmt.Sprintf("node %d is back", m.name))
	}
}

// join starts a node with an empty folder, when the others do not have the first entries any more.
func (s *several) join() {
	s.restarted(s.live())
	s.joined = true
	s.nodes[joiner].start(s.t)
	s.follows(s.nodes[joiner])
	s.load.admit(s.nodes[joiner])
}

// slow has few bytes pass between a node and the others, who have many for it, until messages are
// dropped, or for a while.
func (s *several) slow() {
	m := s.follower()
	for _, way := range s.links(m) {
		way.Slow()
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestSlow)
	defer cancel()
	var sending sync.WaitGroup
	for _, from := range s.load.large {
		sending.Go(func() { from.run(ctx) })
	}
	dropped := 0
	for ctx.Err() == nil && dropped == 0 {
		for _, other := range s.live() {
			for _, p := range other.status().Peers {
				s.Queued = max(s.Queued, p.Queued)
				if p.ID == s.keys[m.name].ID().String() {
					dropped = max(dropped, p.Dropped)
				}
				if p.Queued > mostQueued {
					s.t.Fatalf("%d messages wait for a peer, and %d may", p.Queued, mostQueued)
				}
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.pause(time.Second)
	cancel()
	sending.Wait()
	s.Dropped += dropped
	for _, way := range s.links(m) {
		way.Pass()
	}
	s.follows(m)
}

// longestSlow bounds the time in which a slow peer's queue should fill up.
const longestSlow = 15 * time.Second

// mostQueued is the bound of what waits for one peer.
const mostQueued = 128

// behindBy is how many blocks a node must lack before the liar is among those that it asks: of two
// peers each is asked for one of the first ranges of 64 blocks.
const behindBy = 200

// lie has a node fetch blocks from two peers, of which one sends bad ones: it is in the place of
// the third node, with its key, while that is parted from both.
func (s *several) lie() {
	if !s.joined {
		s.t.Fatal("lie needs three nodes: it comes after join")
	}
	m := s.follower()
	others := slices.DeleteFunc(slices.Clone(s.nodes), func(other *member) bool { return other == m })
	s.random.Shuffle(2, func(i, j int) { others[i], others[j] = others[j], others[i] })
	honest, third := others[0], others[1]
	for _, way := range s.links(m) {
		way.Refuse()
	}
	head, err := m.head()
	if err != nil {
		s.t.Fatal(err)
	}
	servicetest.Await(s.t, func() string { return "blocks that the node lacks" }, func() bool {
		number, err := honest.head()
		return err == nil && number > head+behindBy
	})
	s.restarted(others)
	for _, way := range s.links(third) {
		way.Refuse()
	}
	id := s.keys[third.name].ID().String()
	servicetest.Await(s.t, func() string { return "the third node is parted" }, func() bool { return !m.peer(id).Connected && !honest.peer(id).Connected })
	score := m.peer(id).Score
	l, err := lieTo(s.keys[third.name], peers.Address{ID: s.keys[m.name].ID(), Host: m.peers}, honest, s.random.IntN(len(lies)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.end()
	servicetest.Await(s.t, func() string { return "the liar is connected" }, func() bool { return m.peer(id).Connected })
	s.ways[m.name][honest.name].Pass()
	s.ways[honest.name][m.name].Pass()
	servicetest.Await(s.t, func() string {
		return fmt.Sprintf("the liar is blamed for %d lies: %s", l.told.Load(), m.page("/debug/chain/peers"))
	}, func() bool { return m.peer(id).Score < score })
	s.goesOn("the node has the honest node's blocks, and both agree")
	l.end()
	s.Lies += int(l.told.Load())
	s.Blamed += score - m.peer(id).Score
	if p := m.peer(s.keys[honest.name].ID().String()); p.Score < 0 {
		s.t.Errorf("an honest peer is blamed: %s", p.LastError)
	}
	for _, way := range s.links(third) {
		way.Pass()
	}
	s.follows(third)
	s.follows(m)
}
