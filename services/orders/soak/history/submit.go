package history

import "fmt"

// submission is an order that was submitted. It is kept until the end, since it may be sent again.
type submission struct {
	key     Key
	account string
	uid     int64 // from a read or an acknowledgement; 0 means unknown
	acked   bool
	made    bool // an answer has reported that this request created it
}

// Submit is an attempt in progress.
type Submit struct {
	submission *submission
	floor      int64
}

// Receipt is the answer to an attempt.
type Receipt struct {
	UID, Version int64
	Status       string
	Duplicate    bool
}

// Submit begins an attempt to create an order, before the request is sent.
func (h *History) Submit(key Key, account string) Submit {
	h.mu.Lock()
	s := h.pending[key]
	if s == nil {
		s = &submission{key: key, account: account}
		h.pending[key] = s
	}
	r := h.rows[s.uid]
	h.mu.Unlock()
	begun := Submit{submission: s}
	if r != nil {
		begun.floor, _ = r.floor()
	}
	return begun
}

// Acknowledged judges the receipt of an attempt. From now on every client must find the order.
func (h *History) Acknowledged(s Submit, got Receipt) {
	if kind, why := h.acknowledge(s, got); kind != "" {
		h.Break(kind, "submission %d of %s, %s; %+v", s.submission.key, s.submission.account, why, got)
		return
	}
	h.count(func(v *Verdict) {
		if got.Duplicate {
			v.Duplicates++
		}
	})
}

func (h *History) acknowledge(s Submit, got Receipt) (Kind, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := s.submission
	switch other := h.rows[got.UID]; {
	case got.UID <= 0:
		return Garbled, "has no uid"
	case m.uid != 0 && m.uid != got.UID:
		return Repeated, fmt.Sprintf("was order %d", m.uid)
	case other != nil && other.key != m.key:
		return Foreign, fmt.Sprintf("is acknowledged as an order of %s", other.account)
	case m.made && !got.Duplicate:
		return Repeated, "is made a second time"
	}
	first := !m.acked
	m.uid, m.acked, m.made = got.UID, true, m.made || !got.Duplicate
	if first {
		h.add(got.UID, m.key, m.account)
		h.count(func(v *Verdict) { v.Submitted++ })
	}
	r := h.rows[got.UID]
	switch {
	case got.Version < s.floor:
		return Stale, fmt.Sprintf("has version %d; %d was acknowledged before", got.Version, s.floor)
	case got.Version > r.ceiling():
		return Unwritten, "has a version whose commit was never begun"
	case got.Status != m.key.Derive(got.Version).Status:
		return Torn, "does not have that version's status"
	}
	return "", ""
}

// find returns the known order of a row, or else the submission that may have created it.
func (h *History) find(got *Row) (*row, *submission) {
	if known := h.row(got.UID); known != nil {
		return known, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key, ok := keyOf(got.Symbol)
	s := h.pending[key]
	switch {
	case h.rows[got.UID] != nil: // became known meanwhile
		return h.rows[got.UID], nil
	case !ok || s == nil || s.uid != 0 && s.uid != got.UID:
		return nil, nil
	}
	s.uid = got.UID
	return nil, s
}

// judgeContent judges a row that was created and not acknowledged yet: no writer has changed it.
func (s *submission) judgeContent(row *Row) (Kind, string) {
	switch {
	case row.Account != s.account:
		return Foreign, "is an order of " + s.account
	case row.Version != 1:
		return Unwritten, "has a version whose commit was never begun"
	case !row.holds(s.key.Derive(1)):
		return Torn, fmt.Sprintf("does not have the submitted contents, %+v", s.key.Derive(1))
	}
	return "", ""
}
