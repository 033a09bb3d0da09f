package main

import "time"

// event is one line of the journal: what happened to a subscription. What the program knows is what the
// notices and the events add up to, in the order of At: apply is all that changes it, now and when the
// files are read again.
type event struct {
	Do     string      `json:"do"`
	At     uint64      `json:"at"` // the last notice's number when it happened
	Sub    string      `json:"sub,omitempty"`
	Seq    uint64      `json:"seq,omitempty"`    // the notice's
	Tries  int         `json:"tries,omitempty"`  // with this one
	Next   time.Time   `json:"next,omitzero"`    // attempt
	Change *definition `json:"change,omitempty"` // of put
	Letter *letter     `json:"letter,omitempty"` // of died
	Counts *counts     `json:"counts,omitempty"` // of count
}

// What an event does.
const (
	put       = "put"       // a subscription is made or changed
	remove    = "remove"    // it is deleted; what it had not got is dead
	delivered = "delivered" // a notice
	failed    = "failed"    // an attempt
	died      = "died"      // a notice is given up
	replay    = "replay"    // a dead letter is to be delivered after all
	purge     = "purge"     // a dead letter is deleted
	count     = "count"     // sets the counts, of those that went without Sub; begins a rewritten journal
)

// record writes an event that nobody waits for, and applies it. The caller holds mu.
func (s *server) record(e event) {
	e.At = s.seq
	s.journal.later(e)
	s.apply(e)
}

// commit applies an event and returns when it is on the disk. The caller holds changes.
func (s *server) commit(e event) error {
	s.mu.Lock()
	e.At = s.seq
	err := s.journal.append(e)
	if err == nil {
		s.apply(e)
	}
	s.mu.Unlock()
	if err == nil {
		err = s.journal.sync()
	}
	if err != nil {
		return refuseDisk(err)
	}
	return nil
}

// admit hands a stored notice to whom it is for. The caller holds mu.
func (s *server) admit(n *notice) {
	s.seq = n.Seq
	for _, id := range n.To {
		if sub := s.subs[id]; sub != nil && sub.pending[n.Seq] == nil {
			sub.Accepted++
			s.enqueue(sub, n, n.Accepted)
		}
	}
}

// apply does what an event says. An event about what is not there any more says nothing. The caller holds
// mu.
func (s *server) apply(e event) {
	sub := s.subs[e.Sub]
	switch {
	case e.Do == put:
		s.define(*e.Change)
	case e.Do == count && e.Sub == "":
		s.departed = *e.Counts
	case sub == nil:
	case e.Do == count:
		sub.counts = *e.Counts
	case e.Do == remove:
		s.forget(sub)
	case e.Do == purge:
		if s.dropLetter(sub, e.Seq) {
			sub.Purged++
		}
	case e.Do == replay:
		if at, ok := sub.findLetter(e.Seq); ok && !sub.letters[at].Replaying {
			sub.letters[at].Replaying = true
			sub.Dead--
			s.enqueue(sub, sub.letters[at].Notice, time.Now())
		}
	default:
		s.settle(sub, e)
	}
}

// settle applies the outcome of an attempt.
func (s *server) settle(sub *subscription, e event) {
	l := sub.pending[e.Seq]
	if l == nil {
		return
	}
	if e.Tries > 1 {
		sub.Retried++
	}
	if e.Do == failed {
		if l.items[0].notice.Seq == e.Seq {
			l.tries, l.next = e.Tries, e.Next
		}
		return
	}
	n, _ := s.dequeue(sub, e.Seq)
	switch e.Do {
	case delivered:
		sub.Delivered++
		s.dropLetter(sub, e.Seq) // if it was replayed
	case died:
		sub.Dead++
		e.Letter.Notice = n
		s.addLetter(sub, e.Letter)
	}
}

func (s *server) define(d definition) {
	sub := s.subs[d.ID]
	if sub == nil {
		sub = &subscription{lanes: map[string]*lane{}, pending: map[uint64]*lane{}}
		s.subs[d.ID] = sub
	}
	sub.definition = d
	sub.signers = newSigners(d.Secrets)
}

// forget deletes a subscription, what it had not got, and its dead letters.
func (s *server) forget(sub *subscription) {
	for seq := range sub.pending {
		s.dequeue(sub, seq)
		sub.Dead++
	}
	for len(sub.letters) > 0 {
		s.dropLetter(sub, sub.letters[0].Notice.Seq)
	}
	s.departed.add(sub.counts)
	delete(s.subs, sub.ID)
	s.wake(sub)
}

// bury makes dead letters of all that a subscription has not got. The caller holds mu.
func (s *server) bury(sub *subscription, reason string) {
	for _, l := range sub.lanes {
		tries := l.tries
		for len(l.items) > 0 {
			s.die(sub, l.items[0].notice.Seq, letter{Reason: reason, Attempts: tries, Status: sub.lastStatus})
			tries = 0
		}
	}
	s.wake(sub)
}

// die makes a dead letter of a notice, and room for it.
func (s *server) die(sub *subscription, seq uint64, l letter) {
	l.Died = time.Now().UTC()
	s.record(event{Do: died, Sub: sub.ID, Seq: seq, Letter: &l})
	for i := 0; i < len(sub.letters) && (len(sub.letters) > s.limits.letters || s.letterBytes > s.limits.bytes); {
		if sub.letters[i].Replaying {
			i++
			continue
		}
		s.record(event{Do: purge, Sub: sub.ID, Seq: sub.letters[i].Notice.Seq})
	}
}

// wake takes lanes off their timers, because what they waited for has gone.
func (s *server) wake(sub *subscription) {
	for _, l := range sub.lanes {
		if l.timer != nil && l.timer.Stop() {
			s.ready <- l
		}
	}
}
