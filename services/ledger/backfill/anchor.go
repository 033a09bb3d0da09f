package backfill

import (
	"fmt"

	"dyno/services/ledger/xrpl"
)

// The trusted hash, rather than the servers, is considered wrong when all answers for the top are
// the same and there are doubtful of them, or doubters servers sent them. For a single server that
// is wrong about the top in 30% of its answers the chance is 0.3^8, one in 15,000.
const doubtful, doubters = 8, 4

// doubts are answers for the range's top that are consistent in themselves but differ from
// Config.Trusted. Either the answers or the trusted hash are wrong, so no fault is recorded until
// it is known which. Only the linker uses them.
type doubts struct {
	answers []*item
	settled bool // the trusted hash is considered right: servers gave different answers
}

// hashMismatch handles an answer whose hash is not the expected one. It returns an error when the
// expected hash itself is considered wrong.
func (r *run) hashMismatch(it *item, expect xrpl.Hash) error {
	if it.index != r.gap.To || it.index != r.Trusted.Index || r.doubts.settled {
		why := error(ErrFork)
		if it.sigErr != nil {
			why = fmt.Errorf("%w, and %w", ErrFork, it.sigErr)
		}
		r.wrong(it, why)
		return nil
	}
	r.doubts.answers = append(r.doubts.answers, it)
	same := it.hash == r.doubts.answers[0].hash
	if same && (len(r.doubts.answers) >= doubtful || r.doubts.servers() >= doubters) {
		return r.anchorRejected(expect)
	}
	r.refetch(it, ErrFork)
	if !same {
		r.trustAnchor()
	}
	return nil
}

// trustAnchor settles that the trusted hash may be right, and records a fault against each server
// that sent another one.
func (r *run) trustAnchor() {
	r.doubts.settled = true
	for _, it := range r.doubts.answers {
		r.recordFault(it, ErrFork)
		r.recycle(it)
	}
	r.doubts.answers = nil
}

// anchorRejected returns an error that says what servers answered instead of the trusted hash; nil
// if there are no such answers.
func (r *run) anchorRejected(expect xrpl.Hash) error {
	if len(r.doubts.answers) == 0 {
		return nil
	}
	return &AnchorRejected{Index: r.gap.To, Trusted: expect, Reported: r.doubts.answers[0].hash, Servers: r.doubts.servers()}
}

func (d *doubts) servers() int {
	names := map[string]bool{}
	for _, it := range d.answers {
		names[it.from.Name()] = true
	}
	return len(names)
}
