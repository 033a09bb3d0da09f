package backfill

import (
	"dyno/parts/xrpl"
	"fmt"
)

// The trusted hash is doubted, rather than the servers, when all answers are the same, and this many: doubtful answers, or
// those of doubters servers. Of a lone server that is wrong about the top in 30% of its answers, 0.3^8 is one in 15,000.
const doubtful, doubters = 8, 4

// doubts are answers for the range's top, sound in themselves, that are not what Config.Trusted says. One of the two is
// wrong, so no server is blamed before it is known which. They are the linker's alone.
type doubts struct {
	answers []*item
	settled bool // it is not the trusted hash: servers said different things
}

// misfit deals with an answer that has not the hash that it must have. The error says that it is the hash that is wrong.
func (r *run) misfit(it *item, expect xrpl.Hash) error {
	if it.index != r.gap.To || it.index != r.Trusted.Index || r.doubts.settled {
		why := error(ErrFork)
		if it.doubt != nil {
			why = fmt.Errorf("%w, and %w", ErrFork, it.doubt)
		}
		r.wrong(it, why)
		return nil
	}
	r.refetch(it, ErrFork)
	r.doubts.answers = append(r.doubts.answers, it)
	if it.hash != r.doubts.answers[0].hash {
		r.believe()
		return nil
	}
	if len(r.doubts.answers) >= doubtful || r.doubts.servers() >= doubters {
		return r.disowned(expect)
	}
	return nil
}

// believe settles that the trusted hash may be right: who gave another is to blame.
func (r *run) believe() {
	r.doubts.settled = true
	for _, it := range r.doubts.answers {
		r.blame(it, ErrFork)
		r.recycle(it)
	}
	r.doubts.answers = nil
}

// disowned is what the answers so far say of the trusted hash; nil: nothing.
func (r *run) disowned(expect xrpl.Hash) error {
	if len(r.doubts.answers) == 0 {
		return nil
	}
	return &Disowned{Index: r.gap.To, Trusted: expect, Said: r.doubts.answers[0].hash, Servers: r.doubts.servers()}
}

// servers is how many gave the answers.
func (d *doubts) servers() int {
	names := map[string]bool{}
	for _, it := range d.answers {
		names[it.from.Name()] = true
	}
	return len(names)
}
