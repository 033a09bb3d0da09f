package main

import (
	"fmt"
	"net/http"
	"time"
)

// taken is what a client is told of a notice.
type taken struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// postNotices answers POST /v1/notices.
func (s *server) postNotices(w http.ResponseWriter, r *http.Request) {
	notices, batch, err := readNotices(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	for _, n := range notices {
		n.Trace = traceparent(r)
	}
	all, fresh, deliveries, err := s.accept(notices)
	if err != nil {
		answerError(w, err)
		return
	}
	status := http.StatusAccepted
	if fresh == 0 {
		status = http.StatusOK
	}
	switch {
	case batch:
		answer(w, status, map[string]any{"accepted": fresh, "duplicates": len(all) - fresh, "deliveries": deliveries, "notices": all})
	case fresh == 0:
		answer(w, status, all[0])
	default:
		answer(w, status, map[string]any{"id": all[0].ID, "seq": all[0].Seq, "deliveries": deliveries})
	}
}

// traceparent returns the request's, if it looks like one: a receiver should not get any text at all.
func traceparent(r *http.Request) string {
	const length = 55 // 00-TRACE-SPAN-FLAGS
	if t := r.Header.Get("traceparent"); len(t) == length && t[2] == '-' && t[35] == '-' && t[52] == '-' {
		return t
	}
	return ""
}

// accept numbers the notices that have not come before, stores them and sets them in motion.
func (s *server) accept(notices []*notice) (all []taken, fresh, deliveries int, err error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	all, accepted, err := s.number(notices)
	if err != nil {
		return nil, 0, 0, err
	}
	if len(accepted) == 0 {
		return all, 0, 0, nil
	}
	deliveries, err = s.address(accepted)
	if err != nil {
		return nil, 0, 0, err
	}
	err = s.log.append(entry{Notices: accepted})
	if err == nil {
		err = s.log.sync()
	}
	if err != nil {
		return nil, 0, 0, refuseDisk(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range accepted {
		s.admit(n)
		s.seen.add(n.seenAs())
		for _, id := range n.To {
			if sub := s.subs[id]; sub.Disabled != "" { // while this was stored
				s.bury(sub, "the subscription is disabled: "+sub.Disabled)
			}
		}
	}
	return all, len(accepted), deliveries, nil
}

// number gives numbers, and tells those that are new, or refuses them all if an id stands for another notice. The
// caller holds changes.
func (s *server) number(notices []*notice) (all []taken, accepted []*notice, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UTC()
	here := map[string]seenID{} // in this request
	var bad []badLine
	for _, n := range notices {
		was, known := s.seen.by[n.ID]
		if !known {
			was, known = here[n.ID]
		}
		if !known {
			n.Seq, n.Accepted = s.seq+uint64(len(accepted))+1, now
			was = n.seenAs()
			here[n.ID] = was
			accepted = append(accepted, n)
		}
		if was.Hash != 0 && was.Hash != n.hash() && len(bad) < maxBadLines {
			bad = append(bad, badLine{n.line, "id", fmt.Sprintf("id %q stands for a notice with another key, type or payload; give this one an id of its own", n.ID)})
		}
		all = append(all, taken{n.ID, was.Seq, known})
	}
	if len(bad) == 0 {
		return all, accepted, nil
	}
	out := &refusal{Status: http.StatusConflict, Text: bad[0].Text, Field: "id"}
	if bad[0].Line > 0 {
		out = &refusal{Status: http.StatusConflict, Text: fmt.Sprintf("line %d: %s", bad[0].Line, bad[0].Text), Lines: bad}
	}
	return nil, nil, out
}

// address finds out for whom the notices are, or refuses them all. The caller holds changes.
func (s *server) address(notices []*notice) (deliveries int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return 0, refuse(http.StatusServiceUnavailable, "shutting down; send it to another instance or again later")
	}
	bytes := 0
	for _, n := range notices {
		for _, sub := range s.subs {
			if sub.wants(n.Type) {
				n.To = append(n.To, sub.ID)
				bytes += n.size()
			}
		}
		deliveries += len(n.To)
	}
	if max(s.lanes, s.oldest.Len())+deliveries <= s.limits.pending && s.bytes+bytes <= s.limits.bytes {
		return deliveries, nil
	}
	for _, n := range notices {
		for _, id := range n.To {
			s.subs[id].Refused++
		}
	}
	if deliveries > s.limits.pending || bytes > s.limits.bytes {
		return 0, refuse(http.StatusRequestEntityTooLarge, "%d deliveries at once; the most is %d of %d bytes; send them in parts", deliveries, s.limits.pending, s.limits.bytes)
	}
	return 0, refuse(http.StatusTooManyRequests, "%d notices wait to be delivered; try again later", s.oldest.Len())
}
