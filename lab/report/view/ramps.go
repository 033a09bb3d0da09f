package view

import (
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Ramp is a run under a rising rate.
type Ramp struct {
	Variant   string       `json:"variant"`
	From      format.Value `json:"from_per_s"` // offered
	To        format.Value `json:"to_per_s"`
	Accepted  format.Value `json:"accepted_follows_to_per_s"`  // offered rate up to which all requests were accepted; 0: never
	Delivered format.Value `json:"delivered_follows_to_per_s"` // the same for deliveries
	Moments   []Moment     `json:"inflections"`                // not nil
}

// Moment is when rate, p99 or GC pauses of a run under a rising rate changed.
type Moment struct {
	At    format.Value `json:"offered_per_s"`
	Joint bool         `json:"joint"` // rate, p99 and GC together
	Text  string       `json:"in_words"`
}

// ramps returns every valid run under a rising rate.
func ramps(e *record.Experiment) (out []Ramp) {
	for _, r := range e.Runs {
		if r.Spec.RampTo == 0 || r.Invalid != "" {
			continue
		}
		ramp := Ramp{Variant: r.Spec.Variant, From: format.Value(r.Spec.Rate), To: format.Value(r.Spec.RampTo), Accepted: followed(r, acceptedIn), Delivered: format.Unknown, Moments: []Moment{}}
		if r.Totals.Delivered+r.Totals.Undelivered > 0 {
			ramp.Delivered = followed(r, func(c record.Client) int64 { return c.Delivered })
		}
		joint, alone := capacity.Inflections(observedSeries(r))
		for _, i := range joint {
			ramp.Moments = append(ramp.Moments, Moment{rampRate(r, i.At), true, i.Text})
		}
		for _, s := range alone {
			ramp.Moments = append(ramp.Moments, Moment{rampRate(r, s.At), false, s.Text})
		}
		out = append(out, ramp)
	}
	return out
}

const (
	// followShare is the share of the requests of a stretch that must be completed for the flow to
	// follow them.
	followShare = 0.98
	// followStretch is long enough that a single request in flight does not decide.
	followStretch = 500 * time.Millisecond
)

// followed is the highest offered rate up to which a flow kept up with the requests: the end of the
// last stretch in which it did. A stall followed by recovery does not count; 0: it never kept up.
func followed(r *record.Run, read func(record.Client) int64) format.Value {
	measured := slices.DeleteFunc(slices.Clone(r.Series), func(w record.Window) bool { return w.Phase != record.PhaseMeasure })
	last := format.Value(0)
	for stretch := range slices.Chunk(measured, int(followStretch/record.WindowLength)) {
		var offered, through int64
		for _, w := range stretch {
			offered, through = offered+w.Client.Offered, through+read(w.Client)
		}
		if offered > 0 && float64(through) >= followShare*float64(offered) {
			last = rampRate(r, stretch[len(stretch)-1].Start+int64(record.WindowLength))
		}
	}
	return last
}

func acceptedIn(c record.Client) int64 { return c.Ended - c.Failed }

// rampRate is the offered rate at an instant, per second.
func rampRate(r *record.Run, at int64) format.Value {
	share := float64(at-r.Begin) / float64(r.Length)
	return format.Value(r.Spec.Rate + (r.Spec.RampTo-r.Spec.Rate)*max(0, min(1, share)))
}

// observedSeries is the run's series with the rate and the latency that its SLO bounds: those of
// deliveries if it bounds delivery.
func observedSeries(r *record.Run) []record.Window {
	if r.SLO.On != record.OnDelivery {
		return r.Series
	}
	out := slices.Clone(r.Series)
	for i := range out {
		c := &out[i].Client
		c.Ended, c.P50Ms, c.P99Ms = c.Delivered, c.DeliveryP50Ms, c.DeliveryP99Ms
	}
	return out
}

// FollowedText states the rate up to which a flow followed the requests.
func (r Ramp) FollowedText(to format.Value) string {
	switch {
	case !to.Known():
		return format.Dash
	case to == 0:
		return "at no rate"
	case to >= r.To:
		return "all the way"
	}
	return format.Rate(to)
}

// Line states the rate at which rate, p99 and GC changed.
func (m Moment) Line() string {
	if m.Joint {
		return "inflection at " + format.Rate(m.At) + ": " + m.Text
	}
	return "alone, at " + format.Rate(m.At) + ": " + m.Text
}
