package raft

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"

	"dyno/parts/quicktest"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/chain/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a wal.Backend that outlives its log, as files do.
type disk struct {
	wal.Backend
	sync time.Duration
}

func (disk) Close() error { return nil }

func (d disk) Sync() error {
	time.Sleep(d.sync) // in a bubble
	return d.Backend.Sync()
}

// member is one node of a cluster without goroutines. What it has applied is its state.
type member struct {
	*core
	id       uint64
	disk     disk
	wal      *wal.Log
	applied  []string // of entries, in their order
	index    uint64   // of the last
	kept     int      // of applied, in the last checkpoint
	proposed map[string]bool
}

// cluster is members, and the messages on their way between them.
type cluster struct {
	t       *testing.T
	random  *rand.Rand
	members []*member
	wires   []wire
	apart   uint64 // a member whose messages are all lost
	acked   []string
	number  int
}

type wire struct {
	from, to uint64
	body     []byte
}

var quiet = log.New(io.Discard, "", 0)

func newCluster(t *testing.T, size int, seed uint64) *cluster {
	c := &cluster{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	for i := range size {
		m := &member{id: uint64(i + 1), disk: disk{memory.New(), 0}}
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		c.start(m)
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			m.wal.Close()
		}
	})
	return c
}

func (c *cluster) voters() (ids []uint64) {
	for _, m := range c.members {
		ids = append(ids, m.id)
	}
	return ids
}

// start opens a member's log, and restores its state as far as its checkpoint goes.
func (c *cluster) start(m *member) {
	m.wal = wal.New(m.disk, wal.Options{})
	s, err := openStorage(m.wal, c.voters())
	if err == nil {
		m.core, err = newCore(Options{ID: m.id}, s, quiet)
	}
	if err != nil {
		c.t.Fatalf("node %d: %v", m.id, err)
	}
	m.proposed, m.applied = map[string]bool{}, nil
	snapshot, err := s.Snapshot()
	if err != nil {
		c.t.Fatal(err)
	}
	c.restore(m, snapshot)
}

func (c *cluster) restore(m *member, s *pb.Snapshot) {
	before := m.applied
	m.index, m.applied = s.GetMetadata().GetIndex(), nil
	if len(s.GetData()) > 0 {
		m.applied = strings.Split(string(s.GetData()), " ")
	}
	if !slices.Equal(before, m.applied[:min(len(before), len(m.applied))]) {
		c.t.Fatalf("node %d goes back from %v to %v", m.id, before, m.applied)
	}
}

// crash ends a member without notice, and starts it from its disk.
func (c *cluster) crash(m *member) {
	m.wal.Close()
	c.start(m)
}

// settle does what a member must do, and applies what is committed.
func (c *cluster) settle(m *member) {
	out, err := m.advance(func(messages []*pb.Message) {
		if err := m.frames(messages, func(to uint64, body []byte) { c.wires = append(c.wires, wire{m.id, to, body}) }); err != nil {
			c.t.Fatal(err)
		}
	})
	if err != nil {
		c.t.Fatalf("node %d: %v", m.id, err)
	}
	if out.restore != nil {
		c.restore(m, out.restore)
	}
	for _, e := range out.entries {
		m.index = e.GetIndex()
		if len(e.GetData()) == 0 {
			continue
		}
		items, err := peers.Items(e.GetData(), 10)
		if err != nil {
			c.t.Fatal(err)
		}
		m.applied = append(m.applied, string(items[0]))
		if m.proposed[string(items[0])] {
			c.acked = append(c.acked, string(items[0]))
		}
	}
}

// deliver delivers one of the messages, any of them.
func (c *cluster) deliver(lossy bool) {
	if len(c.wires) == 0 {
		return
	}
	i := 0
	if lossy && c.random.IntN(3) == 0 {
		i = c.random.IntN(len(c.wires))
	}
	w := c.wires[i]
	if !lossy || c.random.IntN(20) > 0 { // otherwise it comes again
		c.wires = slices.Delete(c.wires, i, i+1)
	}
	if w.from == c.apart || w.to == c.apart || lossy && c.random.IntN(20) == 0 {
		return
	}
	m := c.members[w.to-1]
	messages, err := parse(w.from, w.body)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, message := range messages {
		_ = m.raw.Step(message) // what it ignores is an error, too
	}
	c.settle(m)
}

func (c *cluster) propose(m *member) {
	c.number++
	text := fmt.Sprint("e", c.number)
	if m.leads() && m.raw.Propose(peers.AppendItems(nil, []byte(text))) == nil {
		m.proposed[text] = true
		c.settle(m)
	}
}

// agree checks that the members' states differ in their length only, and have what was
// acknowledged.
func (c *cluster) agree(complete bool) {
	c.t.Helper()
	longest := slices.MaxFunc(c.members, func(a, b *member) int { return len(a.applied) - len(b.applied) }).applied
	for _, m := range c.members {
		if !slices.Equal(m.applied, longest[:len(m.applied)]) || complete && len(m.applied) < len(longest) {
			c.t.Fatalf("node %d has applied %v, and another %v", m.id, m.applied, longest)
		}
	}
	for _, text := range c.acked {
		if complete && !slices.Contains(longest, text) {
			c.t.Fatalf("%s was acknowledged, and is lost: %v", text, longest)
		}
	}
	if sorted := slices.Sorted(slices.Values(longest)); len(slices.Compact(sorted)) < len(longest) {
		c.t.Fatalf("an entry was applied twice: %v", longest)
	}
}

// calm delivers everything until all members have the same state.
func (c *cluster) calm() {
	c.apart = 0
	for range 400 {
		for _, m := range c.members {
			m.raw.Tick()
			c.settle(m)
		}
		for len(c.wires) > 0 {
			c.deliver(false)
		}
	}
}

// Messages are lost, late, twice and out of order, nodes are cut off and crash, and logs are cut:
// what was acknowledged stays, and all nodes have one order.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	acked, checkpoints := 0, 0
	for seed := range uint64(quicktest.Of(10, 100)) {
		c := newCluster(t, 3, seed)
		for range 3000 {
			m := c.members[c.random.IntN(len(c.members))]
			switch n := c.random.IntN(1000); {
			case n < 600:
				c.deliver(true)
			case n < 800:
				m.raw.Tick()
				c.settle(m)
			case n < 980:
				c.propose(m)
			case n < 985:
				c.apart = uint64(c.random.IntN(4))
			case n < 990:
				c.crash(m)
			case len(m.applied) > m.kept:
				if err := m.log.checkpoint(m.index, []byte(strings.Join(m.applied, " "))); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				m.kept = len(m.applied)
				checkpoints++
			}
			c.agree(false)
			if len(c.wires) > 500 {
				c.wires = c.wires[250:]
			}
		}
		c.calm()
		c.agree(true)
		acked += len(c.acked)
	}
	t.Logf("%d entries were acknowledged, and %d checkpoints made", acked, checkpoints)
	if acked == 0 || checkpoints == 0 {
		t.Errorf("%d entries were acknowledged, and %d checkpoints made", acked, checkpoints)
	}
}

// elect makes a member the leader.
func (c *cluster) elect(m *member) {
	c.t.Helper()
	for range 100 {
		if m.leads() {
			return
		}
		_ = m.raw.Campaign()
		c.settle(m)
		for len(c.wires) > 0 {
			c.deliver(false)
		}
		for _, other := range c.members { // so that they do not hold on to the leader before
			other.raw.Tick()
			c.settle(other)
		}
	}
	c.t.Fatalf("node %d is not elected", m.id)
}

// A node that was away while the log was cut gets the checkpoint, also when it crashes then.
func TestLateJoiner(t *testing.T) {
	c := newCluster(t, 3, 1)
	c.apart = 3
	c.elect(c.members[0])
	for range 2 * trailing {
		c.propose(c.members[0])
		for len(c.wires) > 0 {
			c.deliver(false)
		}
	}
	for _, m := range c.members[:2] {
		if err := m.log.checkpoint(m.index, []byte(strings.Join(m.applied, " "))); err != nil {
			t.Fatal(err)
		}
	}
	if size := c.members[0].wal.Size(); size > 64<<10 {
		t.Errorf("after a checkpoint the log has %d bytes", size)
	}
	c.crash(c.members[2])
	c.calm()
	c.crash(c.members[2])
	c.propose(c.members[0])
	c.calm()
	c.agree(true)
	if got := len(c.members[2].applied); got < 2*trailing {
		t.Errorf("the late joiner has %d entries", got)
	}
}

func TestOtherNodesAreRefused(t *testing.T) {
	w := wal.New(memory.New(), wal.Options{})
	defer w.Close()
	for _, voters := range [][]uint64{{1, 2, 3}, {3, 2, 1}} {
		if _, err := openStorage(w, voters); err != nil {
			t.Errorf("%v: %v", voters, err)
		}
	}
	for _, voters := range [][]uint64{{1, 2, 4}, {1}, {1, 2, 3, 4}} {
		if _, err := openStorage(w, voters); err == nil || !strings.Contains(err.Error(), "do not change") {
			t.Errorf("%v: %v", voters, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, m := range []*pb.Message{{Type: pb.MsgApp.Enum()}, {Type: pb.MsgSnap.Enum()}} {
		_ = (&core{}).frames([]*pb.Message{m}, func(_ uint64, body []byte) { f.Add(body) })
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := newCluster(t, 3, 1)
		messages, err := parse(2, body)
		if err != nil {
			return
		}
		n := &Node{core: c.members[0].core}
		if n.step(received{2, messages}) == nil {
			_, _ = n.core.advance(func([]*pb.Message) {})
		}
	})
}
