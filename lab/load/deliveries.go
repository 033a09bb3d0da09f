package load

import "fmt"

// Delivered reports that the request with a sequence number reached its destination at an
// instant. It is safe for concurrent use and does nothing unless a recording is in progress. An
// impossible instant, before the request or after the run, ends the run with an error.
func (r *Recorder) Delivered(seq uint64, at int64) { r.DeliveredUnits(seq, at, max(r.plan.Units, 1)) }

// DeliveredUnits reports the delivery of a request of which n units were accepted.
func (r *Recorder) DeliveredUnits(seq uint64, at int64, n int) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if s == nil {
		return
	}
	intended, matched := r.unacked.Take(seq)
	if at > r.latest || matched && at < intended-window {
		r.fail(fmt.Errorf("a delivery is stamped %d ns, and its request was due at %d ns: the sink does not read this machine's monotonic clock", at, intended))
		return
	}
	s.Advance(at)
	if !matched {
		s.cur.measured.duplicates += int64(n)
		return
	}
	s.lastDone = max(s.lastDone, at)
	s.cur.client.Delivered += int64(n)
	if intended >= s.measureFrom {
		s.cur.measured.delivered += int64(n)
		s.record(&s.cur.delivery, at-intended)
	}
}

// undelivered counts a request whose delivery had not arrived by now.
func (r *Recorder) undelivered(intended, now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if intended >= s.measureFrom {
		s.cur.measured.undelivered += s.units
		s.record(&s.cur.delivery, now-intended)
	}
}

// advanceDeliveries advances the windows of the deliveries' shard when no delivery arrives.
func (r *Recorder) advanceDeliveries(now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	if r.deliver != nil {
		r.deliver.Advance(now)
	}
}

// expireAll counts every request that still awaits its delivery as undelivered.
func (r *Recorder) expireAll(now int64) {
	if r.unacked == nil {
		return
	}
	for i := range r.unacked.Len() {
		if intended, ok := r.unacked.Clear(i); ok {
			r.undelivered(intended, now)
		}
	}
}
