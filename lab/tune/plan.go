package tune

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Verdicts of a trial. They rest on the search's own data, so they only order candidates; the proof
// decides whether the chosen one is better.
const (
	Worse     = "worse"        // the whole interval is below 1
	NotWorth  = "not worth it" // the whole interval is below Worth
	Undecided = "not decided"  // others seemed better, so it got no more time
	Chosen    = "chosen"       // for the proof
	Failed    = "failed"       // it did not start, or stopped answering
	Untried   = "not tried"    // the budget was too short for all
)

// Worth is the smallest ratio that a change of the settings is worth.
const Worth = 1.02

// Trial is a candidate with what the search knows about it.
type Trial struct {
	Candidate Candidate
	Estimate  Estimate
	Memory    float64 // ratio of the resident memory to the start's, in its last group; 0: not known
	Rounds    int     // rounds in which it was measured
	Verdict   string
	Why       string // of Failed

	combined  bool
	processes [][]float64
}

// Room is what the machine permits.
type Room struct {
	Slots int           // candidates that are measured together with the start in one group
	Least time.Duration // the shortest useful time of a group, its start included
}

// Group is candidates to measure together with the start, in turns.
type Group struct {
	Round      int
	Candidates []Candidate
	Length     time.Duration // with the start of the processes
	Last       bool          // of the last round, with combinations
}

// Planner is a search in progress.
type Planner struct {
	room   Room
	trials []*Trial
	in     []*Trial // candidates that are still in the search, in order
	round  int
	ended  bool
	noise  []float64 // distances of the A/A control's samples from 0, which they should be
}

// finalists is the most candidates that are combined.
const finalists = 3

// New plans a search over single changes. If the time is too short for all, it leaves out the last.
func New(singles []Candidate, room Room) *Planner {
	p := &Planner{room: room}
	for _, c := range singles {
		p.trials = append(p.trials, &Trial{Candidate: c, Verdict: Untried})
	}
	p.in = slices.Clone(p.trials)
	return p
}

// Next returns the groups of the next round, which together take their share of the remaining time
// of the search; none: the search has ended.
func (p *Planner) Next(left time.Duration) []Group {
	if p.round > 0 {
		p.halve()
		p.in = p.in[:min(len(p.in), p.room.Slots*int(max(0, left)/p.room.Least))] // the best are first
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
		g := Group{Round: p.round, Length: length, Last: last}
		for _, t := range p.in[i*len(p.in)/groups : (i+1)*len(p.in)/groups] {
			g.Candidates = append(g.Candidates, t.Candidate)
		}
		out = append(out, g)
	}
	return out
}

// groups returns the number of groups for n candidates, and total the number of groups of a whole
// search that begins with them.
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

// fit leaves out the last candidates if the time does not suffice for all.
func (p *Planner) fit(left time.Duration) {
	affordable := int(left / p.room.Least)
	for len(p.in) > 1 && p.total(len(p.in), len(p.in) <= finalists) > affordable {
		p.in = p.in[:len(p.in)-1]
	}
}

// halve ends the search for candidates that cannot be worth it, and for the worse half of the
// others.
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

// combine adds the combinations of the remaining candidates.
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

// Control records a group's samples of the A/A control, a second process with the start's settings.
// Its gain is 0, so the samples show how far a sample on this machine can be off.
func (p *Planner) Control(gains []float64) {
	p.noise = append(p.noise, away(gains, 0)...)
	for _, t := range p.trials {
		p.judge(t)
	}
}

// spread returns the standard deviation of a sample, made larger if it rests on few samples.
func (p *Planner) spread() float64 {
	if len(p.noise) == 0 {
		return usual
	}
	return max(between, normal*median(p.noise)) * (1 + 2/float64(len(p.noise)))
}

// Slow raises the shortest useful time of a group.
func (p *Planner) Slow(least time.Duration) { p.room.Least = max(p.room.Least, least) }

// Enter records a group's samples of a candidate: logarithms of its gain over the start, above 0 if
// it is better, and the ratio of its memory to the start's (0: not known).
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

// Fail ends the search for a candidate that cannot be measured.
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

// sure is how many standard errors a chosen candidate must be better than the start: the best of
// two dozen that change nothing seems better by about two.
const sure = 1.5

// Choose returns the candidate to prove; nil: none seems worth it. A candidate must seem worth it
// by its last round alone as well, since the earlier rounds selected it. Of two with equal
// estimates, Choose takes the one with the smaller error.
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

// Trials returns what is known of every candidate, the best first. Those without samples are last;
// combinations without samples are left out.
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
