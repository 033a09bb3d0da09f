package cache

import (
	"sync"
	"sync/atomic"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// memory is what Live keeps, and the rules of what it may keep. It knows nothing of connections.
//
// An entry is right as of every commit that the feed has told: changed takes it out. What is hard is putting one
// in, because what a read found may be older than a change that was told already, in two ways:
//
//   - The read began before the change was told, and ended after. So reads under way are known by uid, and changed
//     spoils them.
//   - The read began after, and yet does not see it: the server writes a commit to its log, and the feed may tell
//     of it, before the commit becomes visible to others (long before, if a synchronous standby is slow). So a
//     changed order is unsettled until a snapshot shows that the transaction has ended; what is read of it by a
//     read that begins earlier is not kept.
//
// Where that cannot be known by uid (transactions that committed before the feed began, TRUNCATE, very many
// changes at once), a wall goes up: nothing is kept until all transactions up to one have ended.
type memory struct {
	orders *otter.Cache[int64, entry]
	epoch  atomic.Uint64 // one more with each reset; entries of another are none

	mu        sync.Mutex
	open      bool // a feed tells of changes
	reads     map[int64]*read
	unsettled map[int64]uint32 // the last transaction that changed the order
	wall      bool
	behind    uint32 // the wall: the last of the transactions that must have ended
}

// maxUnsettled is how many changed orders are told apart; each fence looks at all of them.
const maxUnsettled = 4096

type entry struct {
	order order.Order
	epoch uint64
}

// read is a read of one order under way, or several of the same.
type read struct {
	uid    int64
	epoch  uint64
	sharer int
	spoilt bool
}

func newMemory(size int) *memory {
	return &memory{orders: bounded[entry](size), reads: make(map[int64]*read), unsettled: make(map[int64]uint32)}
}

// get returns an order that is right as of what the feed has told.
func (m *memory) get(uid int64) (order.Order, bool) {
	e, ok := m.orders.GetIfPresent(uid)
	if !ok || e.epoch != m.epoch.Load() {
		return order.Order{}, false
	}
	return e.order, true
}

// reset forgets everything. From then on, if open, a feed tells of every commit but those of transactions up to
// the last one, which are to end first.
func (m *memory) reset(open bool, last uint32) (epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	epoch = m.epoch.Add(1)
	m.open, m.wall, m.behind = open, open, last
	clear(m.unsettled)
	clear(m.reads)
	m.orders.InvalidateAll()
	return epoch
}

// begin is told that a read begins. It returns nil if what it finds cannot be kept; unsettled: but could be if a
// snapshot came first.
func (m *memory) begin(uid int64) (r *read, unsettled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.open {
		return nil, false
	}
	if _, changed := m.unsettled[uid]; changed || m.wall {
		return nil, true
	}
	r = m.reads[uid]
	if r == nil {
		r = &read{uid: uid, epoch: m.epoch.Load()}
		m.reads[uid] = r
	}
	r.sharer++
	return r, false
}

// end is told what the read found, if it did.
func (m *memory) end(r *read, o order.Order, found bool) {
	if r == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.epoch != m.epoch.Load() {
		return
	}
	if r.sharer--; r.sharer == 0 && !r.spoilt {
		delete(m.reads, r.uid)
	}
	if found && !r.spoilt {
		m.orders.Set(r.uid, entry{order: o, epoch: r.epoch})
	}
}

// changed is told by the feed.
func (m *memory) changed(uid int64, xid uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders.Invalidate(uid)
	if r := m.reads[uid]; r != nil {
		r.spoilt = true
		delete(m.reads, uid) // reads that begin now are others
	}
	m.unsettled[uid] = xid
	if len(m.unsettled) > maxUnsettled {
		for _, x := range m.unsettled {
			m.raise(x)
		}
		clear(m.unsettled)
	}
}

// truncated is told by the feed.
func (m *memory) truncated(xid uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders.InvalidateAll()
	for _, r := range m.reads {
		r.spoilt = true
	}
	clear(m.reads)
	m.raise(xid)
}

// raise puts up the wall, or makes it wait for one more transaction.
func (m *memory) raise(xid uint32) {
	if !m.wall || int32(xid-m.behind) > 0 { // numbers wrap around
		m.wall, m.behind = true, xid
	}
}

// settle is told what a snapshot says that was taken in an epoch, from the server that its feed follows.
func (m *memory) settle(s *snapshot, epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch != m.epoch.Load() {
		return
	}
	if m.wall && s.allEnded(m.behind) {
		m.wall = false
	}
	for uid, xid := range m.unsettled {
		if s.ended(xid) {
			delete(m.unsettled, uid)
		}
	}
}

func (m *memory) kept() int { return m.orders.EstimatedSize() }
