package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dyno/services/notify/journal"
	"dyno/services/notify/subscription"
)

// How often the maintainer does what.
const (
	crowdedEvery    = 100 * time.Millisecond // checks whether space is short: the journal's reserve is for seconds
	expireEvery     = time.Second            // expires, and checks whether a checkpoint is due
	checkpointEvery = 30 * time.Second
	shortEvery      = 5 * time.Second  // between checkpoints while notices are owed that space was short beside
	idleEvery       = 10 * time.Minute // between checkpoints without news, so that history is trimmed by age
	markEvery       = 10 * time.Second

	// A restart reads what came since the last checkpoint: 8 MiB of the journal and 500,000 notices
	// take a second or two.
	checkpointBytes   = 8 << 20
	checkpointNotices = 500_000
)

// MaintainerOptions are the options of a Maintainer.
type MaintainerOptions struct {
	Store        *Store
	Table        *Table
	KeepAge      time.Duration // how long a notice stays pending for a subscription
	KeepBytes    int64         // maximum bytes pending per subscription
	History      time.Duration // how long delivered notices are kept, for resuming streams and dedup after a restart
	HistoryBytes int64         // maximum bytes of delivered notices that are kept
}

// Maintainer gives up what was kept too long, and writes checkpoints, after which the logs are
// trimmed.
type Maintainer struct {
	options    MaintainerOptions
	checkpoint checkpoint
	saving     sync.Mutex // held while files may be removed from the data folder, or must not be
}

// checkpoint is what the last one saw. Only the maintainer's goroutine uses it, and recovery
// before.
type checkpoint struct {
	at    time.Time
	head  uint64
	need  uint64 // notices before this number are delivered or dead, durably
	marks []mark // when which number was reached, oldest first

	short    uint64 // notices before this number are no history: space was short when it was the next one's
	relieved bool   // since space became short, all that could be dropped was
}

type mark struct {
	at  time.Time
	seq uint64
}

// mark notes when a number was reached, unless it did so of late. The time is that of the notice.
func (c *checkpoint) mark(at time.Time, seq uint64) {
	if n := len(c.marks); n == 0 || at.Sub(c.marks[n-1].at) >= markEvery {
		c.marks = append(c.marks, mark{at, seq})
	}
}

// NewMaintainer returns a maintainer.
func NewMaintainer(o MaintainerOptions) *Maintainer { return &Maintainer{options: o} }

// Run maintains until ctx ends.
func (m *Maintainer) Run(ctx context.Context) {
	clock, space := time.NewTicker(expireEvery), time.NewTicker(crowdedEvery)
	defer clock.Stop()
	defer space.Stop()
	m.checkpoint.at = time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-space.C:
			if m.crowded() {
				m.options.Store.Report(m.relieve())
			}
			continue
		case <-clock.C:
		}
		now := time.Now()
		m.expireAll()
		m.mark(now)
		if m.due(now) {
			m.options.Store.Report(m.Save())
		}
	}
}

// due reports whether it is time for a checkpoint.
func (m *Maintainer) due(now time.Time) bool {
	c, every := &m.checkpoint, idleEvery
	size, head := m.options.Store.Journal.Size(), m.options.Store.head.Load()
	if size > 0 || head != c.head {
		every = checkpointEvery
		if c.need < c.short {
			every = shortEvery
		}
	}
	return m.options.Store.checkpointDue.Swap(false) || size > checkpointBytes || head-c.head > checkpointNotices || now.Sub(c.at) > every
}

// crowded reports whether space is short, so that no history is kept of what is in the log.
func (m *Maintainer) crowded() bool {
	c := &m.checkpoint
	crowded := m.options.Store.full.Swap(false) || m.options.Store.Notices.Low() || m.options.Store.Journal.Low()
	if c.relieved = c.relieved && crowded; crowded {
		_, c.short = m.options.Store.Notices.Bounds()
	}
	return crowded
}

// relieve drops all that was delivered, and lets the logs begin new files, so that what is in the
// present ones can go as soon as it is delivered.
func (m *Maintainer) relieve() error {
	c := &m.checkpoint
	if c.relieved && m.options.Store.Journal.Size() == 0 && m.options.Store.head.Load() == c.head {
		return nil
	}
	m.saving.Lock()
	err := m.options.Store.Notices.Trim(c.need) // first what takes no space: a checkpoint does
	m.saving.Unlock()
	if err == nil {
		err = m.options.Store.Notices.Roll()
	}
	if err == nil {
		err = m.options.Store.Journal.Roll()
	}
	if err == nil {
		err = m.Save()
	}
	c.relieved = err == nil
	return err
}

// expireAll makes dead letters of what was kept too long.
func (m *Maintainer) expireAll() {
	first, next := m.options.Store.Notices.Bounds()
	mean := float64(m.options.Store.Notices.Size()) / float64(max(next-first, 1))
	for _, sub := range m.options.Table.all() {
		sub.expire(m.options.KeepAge, m.options.KeepBytes, mean)
	}
}

// mark notes how far the log is, so that its history can be kept by age.
func (m *Maintainer) mark(now time.Time) {
	c := &m.checkpoint
	c.mark(now, m.options.Store.head.Load())
	old := now.Add(-m.options.History)
	if i, _ := slices.BinarySearchFunc(c.marks, old, func(k mark, t time.Time) int { return k.at.Compare(t) }); i > 1 {
		c.marks = slices.Delete(c.marks, 0, i-1) // the last that is older says where history begins
	}
}

// Save writes a checkpoint and trims what is not needed any more.
func (m *Maintainer) Save() error {
	m.saving.Lock()
	defer m.saving.Unlock()
	c, head := &m.checkpoint, m.options.Store.head.Load()
	need := head
	c.at, c.head = time.Now(), head // also of one that fails: it is not tried again immediately
	err := m.options.Store.Journal.Checkpoint(func(put func(subscription.Position)) {
		for _, sub := range m.options.Table.all() {
			if needs, ok := sub.position(put); ok {
				need = min(need, needs)
			}
		}
	})
	if err != nil && !errors.Is(err, journal.ErrUnread) {
		return err
	}
	c.need = need
	return errors.Join(err, m.options.Store.Notices.Trim(min(need, m.historyBegins())))
}

// WithoutTrimming calls f while no file is removed from the data folder.
func (m *Maintainer) WithoutTrimming(f func()) {
	m.saving.Lock()
	defer m.saving.Unlock()
	f()
}

// historyBegins is the first number that is kept for history.
func (m *Maintainer) historyBegins() uint64 {
	first, next := m.options.Store.Notices.Bounds()
	begins := min(max(first, m.checkpoint.short), next)
	for _, k := range m.checkpoint.marks {
		if time.Since(k.at) > m.options.History {
			begins = max(begins, k.seq)
		}
	}
	if size := m.options.Store.Notices.Size(); size > m.options.HistoryBytes && next > first {
		each := max(size/int64(next-first), 1)
		begins = max(begins, next-min(next-first, uint64(m.options.HistoryBytes/each)))
	}
	return begins
}
