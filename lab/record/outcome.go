package record

// Outcome says how an experiment ended. The command's exit code, the page, Markdown, JSON and dyno report all read
// this field, so they cannot disagree.
type Outcome struct {
	Status string `json:"status"`
	// Reason says in one sentence why the status is not OutcomeComplete.
	Reason string `json:"reason,omitempty"`
}

// What an experiment can end as.
const (
	OutcomeComplete    = "complete"    // it did all it planned to, or all that its budget allowed
	OutcomeInterrupted = "interrupted" // a signal ended it early; what was measured until then counts
	OutcomeFailed      = "failed"      // an error ended it early; what was measured until then counts
	OutcomeInvalid     = "invalid"     // nothing could be measured, the generator was the limit, or the baseline and its twin differ
)

// Ended returns how the experiment ended. One that is in progress, or whose lab was killed, is OutcomeInterrupted. An
// experiment of format version 1 did not record its outcome: it is complete if a run counts.
func (e *Experiment) Ended() Outcome {
	switch {
	case e.Outcome != nil:
		return *e.Outcome
	case e.UnderWay != nil:
		return Outcome{OutcomeInterrupted, "it has not ended: it goes on, or the lab was killed"}
	}
	reason := "nothing was measured"
	for _, r := range e.Runs {
		if r.Invalid == "" {
			return Outcome{Status: OutcomeComplete}
		}
		reason = r.Invalid
	}
	return Outcome{OutcomeInvalid, reason}
}
