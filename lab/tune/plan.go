package tune

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Verdicts of a trial. They rest on the data of the search itself, so they only order candidates.
// The proof decides whether the chosen one is better.
const (
	Worse     = "worse"        // the whole interval is below 1
	NotWorth  = "not worth it" // the whole interval is below Worth
	Undecided = "not decided"  // other candidates seemed better, so it got no more time
	Chosen    = "chosen"       // it goes to the proof
	Failed    = "failed"       // it did not start, or stopped answering
	Untried   = "not tried"    // the time was too short for it
)

// Worth is the smallest gain, as a ratio, for which a change of the settings is worth it.
const Worth = 1.02

// Trial is a candidate with what the search knows of it.
type Trial struct {
	Candidate Candidate
	Estimate  Estimate
	Memory    float64 // resident memory in its last group, relative to the start's; 0: not known
	Rounds    int     // rounds in which it was measured
	Verdict   string
	Why       string // reason of Failed

	combined  bool
	processes [][]float64
}

// Room is what the machine permits.
type Room struct {
	Slots int           // maximum number of candidates in a group, without the start
	Least time.Duration // shortest useful length of a group
}

// Group is a set of candidates to measure in turns with the start.
type Group struct {
	Round      int
	Candidates []Candidate
	Length     time.Duration // including the time to start the processes
}

// Planner is a search in progress.
type Planner struct {
	room   Room
	trials []*Trial
	in     []*Trial // candidates that are still in the search, in order
	round  int
	ended  bool
	noise  []float64 // absolute values of the A/A control's samples, which would be 0 without noise
}

// finalists is the maximum number of candidates that are combined.
const finalists = 3

// New returns a planner of a search over single changes, the most promising first. If the time is
// too short for all, Next leaves out the last ones.
func New(singles []Candidate, room Room) *Planner {
	p := &Planner{room: room}
	for _, c := range singles {
		p.trials = append(p.trials, &Trial{Candidate: c, Verdict: Untried})
	}
	p.in = slices.Clone(p.trials)
	return p
}

// Next returns the groups of the next round. left is the remaining time of the search, of which
// they together take their share. Without groups, the search has ended.
func (p *Planner) Next(left time.Duration) []Group {
	if p.round > 0 {
		p.halve()
		p.in = p.in[:min(len(p.in), p.room.Slots*int(max(0, left)/p.room.Least))] // the best come first
	}
	if p.ended || len(p.in) == 0 || left < p.room.Least {
		p.ended = true
		return nil
	}
	if p.round == 0 {
		p.fit(left)
	}
	p.round++
	last := len(p.in) <= finalists
	if last {
		p.combine()
		p.ended = true
	}
	groups := p.groups(len(p.in))
	length := max(p.room.Least, left/time.Duration(p.total(len(p.in), last)))
	var out []Group
	for i := range groups {
		g := Group{Round: p.round, Length: length}
		for _, t := range p.in[i*len(p.in)/groups : (i+1)*len(p.in)/groups] {
			g.Candidates = append(g.Candidates, t.Candidate)
		}
		out = append(out, g)
	}
	return out
}

// groups returns the number of groups for n candidates. total returns the number of groups in the
// rest of a search that has n candidates now; last means that this is the last round.
func (p *Planner) groups(n int) int { return (n + p.room.Slots - 1) / p.room.Slots }

func (p *Planner) total(n int, last bool) int {
	sum := p.groups(n)
	for !last {
		n = half(n)
		if last = n <= finalists; last {
			n = min(p.room.Slots, n+finalists+1)
		}
		sum += p.groups(n)
	}
	return sum
}

func half(n int) int { return (n + 1) / 2 }

// fit leaves out the last candidates if there is not enough time for all.
func (p *Planner) fit(left time.Duration) {
	affordable := int(left / p.room.Least)
	for len(p.in) > 1 && p.total(len(p.in), len(p.in) <= finalists) > affordable {
		p.in = p.in[:len(p.in)-1]
	}
}

// halve drops the candidates that cannot be worth it, and keeps at most half of the candidates of
// the last round: the best of the others.
func (p *Planner) halve() {
	var open []*Trial
	for _, t := range p.in {
		if t.Verdict == Undecided {
			open = append(open, t)
		}
	}
	slices.SortStableFunc(open, func(a, b *Trial) int { return cmp.Compare(b.Estimate.Log, a.Estimate.Log) })
	p.in = open[:min(len(open), half(len(p.in)))]
}

// combine adds combinations of the remaining candidates.
func (p *Planner) combine() {
	n := len(p.in)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if both, ok := p.in[i].Candidate.joined(p.in[j].Candidate); ok {
				p.add(both)
				if rest := p.in[j+1 : n]; len(rest) > 0 {
					if all, ok := both.joined(rest[0].Candidate); ok {
						p.add(all)
					}
				}
			}
		}
	}
	p.in = p.in[:min(len(p.in), p.room.Slots)]
}

func (p *Planner) add(c Candidate) {
	t := &Trial{Candidate: c, Verdict: Untried, combined: true}
	p.trials, p.in = append(p.trials, t), append(p.in, t)
}

// Control records a group's samples of the A/A control, a second process with the settings of the
// start. Its true gain is 0, so its samples show the noise on this machine.
func (p *Planner) Control(gains []float64) {
	p.noise = append(p.noise, away(gains, 0)...)
	for _, t := range p.trials {
		p.judge(t)
	}
}

// spread returns the standard deviation of a sample on this machine, enlarged if few samples are
// known.
func (p *Planner) spread() float64 {
	if len(p.noise) == 0 {
		return usual
	}
	return max(between, normal*median(p.noise)) * (1 + 2/float64(len(p.noise)))
}

// Slow raises the shortest useful length of a group.
func (p *Planner) Slow(least time.Duration) { p.room.Least = max(p.room.Least, least) }

// Enter records a group's samples of a candidate. gains are logarithms of its gain over the start,
// positive if it is better. memory is the ratio of its memory to the start's; 0: not known.
func (p *Planner) Enter(c Candidate, gains []float64, memory float64) {
	t := p.trial(c)
	if t == nil || len(gains) == 0 {
		return
	}
	t.processes = append(t.processes, gains)
	t.Memory, t.Rounds = memory, p.round
	p.judge(t)
}

// judge updates a trial's estimate and verdict.
func (p *Planner) judge(t *Trial) {
	if len(t.processes) == 0 || t.Verdict == Failed {
		return
	}
	t.Estimate = estimate(t.processes, p.spread())
	switch worth := math.Log(Worth); {
	case t.Estimate.high() < 0:
		t.Verdict = Worse
	case t.Estimate.high() < worth:
		t.Verdict = NotWorth
	default:
		t.Verdict = Undecided
	}
}

// Fail drops a candidate that cannot be measured.
func (p *Planner) Fail(c Candidate, why string) {
	if t := p.trial(c); t != nil {
		t.Verdict, t.Why = Failed, why
		p.in = slices.DeleteFunc(p.in, func(x *Trial) bool { return x == t })
	}
}

func (p *Planner) trial(c Candidate) *Trial {
	i := slices.IndexFunc(p.trials, func(t *Trial) bool { return t.Candidate.String() == c.String() })
	if i < 0 {
		return nil
	}
	return p.trials[i]
}

// sure is the minimum number of standard errors by which a chosen candidate must be better than the
// start. The best of two dozen candidates that change nothing seems better by about two, so a
// choice is no proof.
const sure = 1.5

// Choose returns the candidate for the proof; nil: none seems worth it. A candidate must also seem
// worth it by its last round alone, since the search selected it by the earlier rounds. Of two
// candidates with equal estimates, Choose takes the one with the smaller error.
func (p *Planner) Choose() Candidate {
	var best *Trial
	atLeast := func(t *Trial) float64 { return t.Estimate.Log - sure*t.Estimate.Error }
	for _, t := range p.trials {
		if t.Verdict != Undecided || atLeast(t) <= 0 || t.Estimate.Log < math.Log(Worth) || estimate(t.processes[len(t.processes)-1:], usual).Log < math.Log(Worth) {
			continue
		}
		if best == nil || atLeast(t) > atLeast(best) {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	best.Verdict = Chosen
	return best.Candidate
}

// Trials returns the trials of all candidates, the best first and those without samples last. It
// leaves out combinations without samples.
func (p *Planner) Trials() []Trial {
	var out []Trial
	for _, t := range p.trials {
		if !t.combined || t.Verdict != Untried {
			out = append(out, *t)
		}
	}
	slices.SortStableFunc(out, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(min(1, b.Estimate.Samples), min(1, a.Estimate.Samples)), cmp.Compare(b.Estimate.Log, a.Estimate.Log))
	})
	return out
}
