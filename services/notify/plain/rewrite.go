package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// rewrite writes what is known to a new state and leaves its files open for more.
func (s *server) rewrite(dir string, n int) (err error) {
	fresh := statePath(dir, n) + ".new"
	if err := os.Mkdir(fresh, 0o750); err != nil {
		return err
	}
	if s.log, err = createLines(filepath.Join(fresh, logName)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.log.close()
		}
	}()
	if s.journal, err = createLines(filepath.Join(fresh, journalName)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.journal.close()
		}
	}()
	err = errors.Join(s.writeLog(), s.writeJournal(), s.log.sync(), s.journal.sync(), syncFolder(fresh))
	if err == nil {
		err = os.Rename(fresh, statePath(dir, n))
	}
	if err == nil {
		err = syncFolder(dir)
	}
	return err
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeLog writes the notices that somebody has not got, or that are dead letters.
func (s *server) writeLog() error {
	kept := map[uint64]*notice{}
	keep := func(n *notice, sub *subscription) {
		if kept[n.Seq] == nil {
			n.To = nil // for whom it still matters
			kept[n.Seq] = n
		}
		n.To = append(n.To, sub.ID)
	}
	for _, sub := range s.subs {
		for _, dead := range sub.letters {
			keep(dead.Notice, sub)
		}
		for _, l := range sub.lanes {
			for _, it := range l.items {
				if _, replayed := sub.findLetter(it.notice.Seq); !replayed {
					keep(it.notice, sub)
				}
			}
		}
	}
	for _, n := range slices.SortedFunc(maps.Values(kept), func(a, b *notice) int { return cmp.Compare(a.Seq, b.Seq) }) {
		if err := s.log.append(entry{Notices: []*notice{n}}); err != nil {
			return err
		}
	}
	if s.seq == 0 {
		return nil
	}
	return s.log.append(entry{Last: s.seq, Seen: s.seen.list()})
}

// writeJournal writes the events that lead to what is known.
func (s *server) writeJournal() error {
	var events []event
	for _, sub := range s.subs {
		events = append(events, event{Do: put, Change: &sub.definition}) // before any notice
	}
	now := func(e event) {
		e.At = s.seq // after all that were kept
		events = append(events, e)
	}
	for _, sub := range s.subs {
		for _, dead := range sub.letters {
			now(event{Do: died, Sub: sub.ID, Seq: dead.Notice.Seq, Letter: dead})
		}
		for _, l := range sub.lanes {
			for _, it := range l.items {
				if _, replayed := sub.findLetter(it.notice.Seq); replayed {
					now(event{Do: replay, Sub: sub.ID, Seq: it.notice.Seq})
				}
			}
			if l.tries > 0 {
				now(event{Do: failed, Sub: sub.ID, Seq: l.items[0].notice.Seq, Tries: l.tries, Next: l.next})
			}
		}
		kept := sub.counts
		kept.Refused = 0
		now(event{Do: count, Sub: sub.ID, Counts: &kept})
	}
	kept := s.departed
	kept.Refused = 0
	now(event{Do: count, Counts: &kept})
	for _, e := range events {
		if err := s.journal.append(e); err != nil {
			return err
		}
	}
	return nil
}
