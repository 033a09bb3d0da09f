package wal

import (
	"runtime"
	"time"
)

// committer is the state of the goroutine that writes and syncs.
type committer struct {
	group    []*entry
	batches  [][][]byte // of the group, in the form that the backend takes
	unsynced []*entry   // asynchronous entries that are written and committed, until they are durable
	pending  int        // bytes of unsynced
	last     error      // result of the final sync in Close
}

// run commits group after group until the log is closed and nothing is left to do.
func (l *Log) run() {
	defer close(l.done)
	due := time.NewTimer(l.options.SyncEvery)
	defer due.Stop()
	armed := true
	for {
		overdue := false
		select {
		case <-l.wake:
		case <-due.C:
			overdue, armed = true, false
		}
		for ; l.take(overdue); overdue = false {
			l.commitGroup(overdue)
			runtime.Gosched() // the callers that it completed append again to this group, not to the one after
		}
		closed, left := l.idle()
		if closed {
			l.commit.last = l.flush()
			return
		}
		if left && !armed {
			due.Reset(l.options.SyncEvery)
			armed = true
		}
	}
}

// take moves the next group from the queue to c.group; false if there is nothing to do. The two
// commit modes differ here: PerAppend ends the group with the first entry that a caller waits for.
func (l *Log) take(overdue bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 && !l.fresh && !overdue {
		return false
	}
	n := len(l.queue)
	if l.options.Commit == PerAppend {
		for i, e := range l.queue {
			if !e.lazy {
				n = i + 1
				break
			}
		}
	}
	l.commit.group = append(l.commit.group[:0], l.queue[:n]...)
	left := copy(l.queue, l.queue[n:])
	clear(l.queue[left:])
	l.queue = l.queue[:left]
	l.fresh = false
	for _, e := range l.commit.group {
		if !e.lazy {
			l.waiting--
		}
	}
	return n > 0 || overdue && len(l.commit.unsynced) > 0
}

// commitGroup writes the group and completes its entries. It syncs if a caller waits, if a sync is
// due, or if too many bytes are not synced.
func (l *Log) commitGroup(overdue bool) {
	c := &l.commit
	wait, bytes := overdue, c.pending
	c.batches = c.batches[:0]
	for _, e := range c.group {
		wait = wait || !e.lazy
		bytes += e.bytes
		if len(e.batch) > 0 {
			c.batches = append(c.batches, e.batch)
		}
	}
	sync := wait || bytes > l.options.MaxQueued/2
	first, err := l.write(c.batches)
	if err != nil {
		l.failGroup(err)
	} else if !sync {
		l.publish(first)
		c.deferSync()
	} else if err = l.sync(); err != nil {
		l.requeueUnsynced()
		l.failGroup(err)
	} else {
		l.publish(first)
		l.complete()
	}
	clear(c.batches)
	clear(c.group)
	c.group = c.group[:0]
}

// write passes the batches to the backend and returns the number of the first record.
func (l *Log) write(batches [][][]byte) (first uint64, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, first = l.backend.Bounds()
	if len(batches) == 0 {
		return first, nil
	}
	if err := l.backend.Write(batches); err != nil {
		return 0, err
	}
	l.stats.groups.Add(1)
	return first, nil
}

func (l *Log) sync() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.stats.syncs.Add(1)
	return l.backend.Sync()
}

// publish assigns numbers to the group's entries, makes the records readable and calls the
// callbacks.
func (l *Log) publish(first uint64) {
	for _, e := range l.commit.group {
		if len(e.batch) == 0 {
			continue
		}
		e.first = first
		first += uint64(len(e.batch))
		if e.committed {
			continue // written again after a failed sync, under the same number
		}
		e.committed = true
		l.next.Store(first)
		l.stats.records.Add(uint64(len(e.batch)))
		l.stats.bytes.Add(uint64(e.bytes))
		if e.onCommit != nil {
			e.onCommit(e.first)
		}
	}
}

// deferSync keeps the group, which is committed but not durable.
func (c *committer) deferSync() {
	for _, e := range c.group {
		c.unsynced = append(c.unsynced, e)
		c.pending += e.bytes
	}
}

// complete completes all entries that were written: they are durable now.
func (l *Log) complete() {
	c := &l.commit
	freed := c.pending
	for _, e := range c.group {
		freed += e.bytes
	}
	l.release(freed, nil)
	for _, e := range c.unsynced {
		l.free(e)
	}
	clear(c.unsynced)
	c.unsynced, c.pending = c.unsynced[:0], 0
	for _, e := range c.group {
		if e.lazy {
			l.free(e)
		} else {
			e.done <- struct{}{}
		}
	}
}

// requeueUnsynced puts the entries that a failed sync has undone before the group, so that they are
// written again.
func (l *Log) requeueUnsynced() {
	c := &l.commit
	c.group = append(c.unsynced, c.group...)
	c.unsynced, c.pending = nil, 0
}

// failGroup returns the error to waiting callers, and puts the asynchronous entries back to the
// front of the queue.
func (l *Log) failGroup(err error) {
	freed := 0
	var lazy []*entry
	for _, e := range l.commit.group {
		if e.lazy {
			lazy = append(lazy, e)
		} else {
			freed += e.bytes
		}
	}
	l.mu.Lock()
	l.queue = append(lazy, l.queue...)
	l.mu.Unlock()
	l.release(freed, err)
	for _, e := range l.commit.group {
		if !e.lazy {
			e.err = err
			e.done <- struct{}{}
		}
	}
}

// release frees space in the queue and stores the result of the last group.
func (l *Log) release(bytes int, failure error) {
	l.mu.Lock()
	l.queued -= bytes
	l.failure = failure
	l.mu.Unlock()
	l.room.Broadcast()
}

// idle reports whether the log was closed, and whether any entry waits for a sync or another
// attempt.
func (l *Log) idle() (closed, left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && l.waiting == 0, len(l.queue) > 0 || len(l.commit.unsynced) > 0
}

// flush makes a last attempt for the asynchronous entries.
func (l *Log) flush() error {
	for l.take(true) {
		l.commitGroup(true)
		l.mu.Lock()
		err := l.failure
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
