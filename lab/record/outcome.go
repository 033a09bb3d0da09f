package record

// Outcome is how an experiment ended. The command's exit code, the page, Markdown, JSON and dyno
// report all read this field, so they cannot disagree.
type Outcome struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // in one sentence, why the status is not OutcomeComplete
}

// Ways in which an experiment can end.
const (
	OutcomeComplete    = "complete"    // everything planned was done, or as much as the budget allowed
	OutcomeInterrupted = "interrupted" // a signal ended it early; what was measured before counts
	OutcomeFailed      = "failed"      // an error ended it early; what was measured before counts
	// OutcomeInvalid: nothing could be measured, the load generator was the limit, or the baseline
	// and its A/A control differ.
	OutcomeInvalid = "invalid"
)

// Ended returns how the experiment ended. One that is in progress, or whose lab was killed, is
// OutcomeInterrupted.
func (e *Experiment) Ended() Outcome {
	if e.Outcome != nil {
		return *e.Outcome
	}
	return Outcome{OutcomeInterrupted, "it has not ended: it is still in progress, or the lab was killed"}
}
