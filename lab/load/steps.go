package load

import "dyno/lab/record"

// SendStep reports that a step, after the request's first, was sent at an instant.
func (s *Shard) SendStep(intended, at int64) {
	s.Advance(at)
	if s.measured(intended) {
		s.record(&s.cur.lag, at-intended)
	}
}

// EndStep reports how a step ended; its status is Unfinished if the end of the run cut it off.
func (s *Shard) EndStep(o *Completion) {
	s.Advance(o.Done)
	s.recordResponse(o.Status, o.Class, !s.measured(o.Intended), o.Done-o.Intended)
	if s.measured(o.Intended) && o.Status != Unfinished {
		s.record(&s.cur.service, o.Done-o.Sent)
	}
}

// EndSteps reports how a request ended whose steps were reported. Done minus Intended is the time
// that the whole request took, pauses included; it is recorded if the request succeeded.
func (s *Shard) EndSteps(o *Completion) {
	s.count(o)
	if o.Success && o.Intended >= s.measureFrom {
		s.value(record.HistFlow, o.Done-o.Intended)
	}
}

// AbandonSteps reports a request that had not completed its steps at now, when the run ended.
func (s *Shard) AbandonSteps(intended, now int64) {
	s.Advance(now)
	s.cur.finished += s.units
	if intended >= s.measureFrom {
		s.cur.measured.unfinished += s.units
	}
}

// measured reports whether a step's own intended time lies in the measured time. While latencies
// are taken, each step is thus sent at the plan's rate.
func (s *Shard) measured(intended int64) bool {
	return intended >= s.measureFrom && intended < s.rec.plan.SendUntil()
}
