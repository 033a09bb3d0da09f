package pool

import (
	"dyno/agent/monotonic"
	"dyno/lab/load"
)

// SendStep reports that a step after the first is sent now, and returns that instant.
func (o *Arrival) SendStep(intended int64) (at int64) {
	o.run.mu.Lock()
	defer o.run.mu.Unlock()
	at = monotonic.Now() // read with the lock held: waiting for the lock delays the step
	o.run.outcomes.SendStep(intended, at)
	return at
}

// EndStep reports how a step ended. If the end of the run cut the step off, its status is
// load.Unfinished.
func (o *Arrival) EndStep(out *load.Completion) {
	o.run.mu.Lock()
	defer o.run.mu.Unlock()
	o.run.outcomes.EndStep(out)
}

// doSteps carries out a call of several steps, and reports how it ended.
func (r *poolRun) doSteps(o *Arrival) {
	result := r.call(r.working, o)
	now := monotonic.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !result.Success && r.working.Err() != nil {
		r.outcomes.AbandonSteps(o.Intended, now)
		return
	}
	r.outcomes.EndSteps(&load.Completion{Seq: o.Seq, Intended: o.Intended, Sent: o.Sent, Done: now, Status: result.Status, Success: result.Success, Checked: result.Checked})
}
