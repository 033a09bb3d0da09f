package turns

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

var (
	a    = Place{record.RoleMeasure, "a"}
	b    = Place{record.RoleMeasure, "b"}
	c    = Place{record.RoleMeasure, "c"}
	twin = Place{record.RoleControl, "a"}
)

// log makes the slices of an experiment, one after the other.
type log struct {
	slices     []record.Slice
	generation int
	block      int
	at         int64
}

func (l *log) add(s record.Slice) {
	s.Generation, s.Block, s.Start = max(l.generation, 1), l.block, l.at
	l.at += int64(s.Length)
	l.slices = append(l.slices, s)
}

// inOrder visits the places of a block, always in the same order.
func inOrder(of map[Place]float64) iter.Seq2[Place, float64] {
	return func(yield func(Place, float64) bool) {
		for _, p := range []Place{a, b, c, twin} {
			if value, ok := of[p]; ok && !yield(p, value) {
				return
			}
		}
	}
}

// work adds blocks in which each place works at its rate, give or take half a percent.
func (l log) work(blocks int, perS map[Place]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range blocks {
		l.block++
		for p, rate := range inOrder(perS) {
			near := 1 + 0.005*float64(i%3-1)
			if p != a {
				near = 1 + 0.005*float64(i%4-1)
			}
			l.add(record.Slice{Kind: record.SliceWork, Role: p.Role, Variant: p.Variant, Length: 300 * time.Millisecond, Served: int64(0.3 * rate * near)})
		}
	}
	return l
}

// votes adds blocks of SLO slices around the rate up to which each place meets the SLO.
func (l log) votes(blocks int, most map[Place]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range blocks {
		l.block++
		for p, rate := range inOrder(most) {
			near := []float64{0.9, 0.97, 0.99, 1.01, 1.03, 1.1}[i%6]
			l.add(record.Slice{Kind: record.SliceSLO, Role: p.Role, Variant: p.Variant, Length: 800 * time.Millisecond, Rate: near * rate, Met: near < 1})
		}
	}
	return l
}

// atOneRate adds blocks of SLO slices at 100/s, with a p99 for each place, in ms.
func (l log) atOneRate(blocks int, p99 map[Place]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range blocks {
		l.block++
		for p, ms := range inOrder(p99) {
			l.add(record.Slice{Kind: record.SliceSLO, Role: p.Role, Variant: p.Variant, Length: 800 * time.Millisecond, Rate: 100, Served: 80, Met: true,
				Latency: record.Quantiles{P99: ms * (1 + 0.01*float64(i%3))}})
		}
	}
	return l
}

// restarted goes on with fresh processes.
func (l log) restarted() log {
	l.generation = max(l.generation, 1) + 1
	return l
}

// bounded is a scenario with an SLO.
func bounded() *scenario.Scenario {
	return &scenario.Scenario{SLO: record.SLO{Latency: map[string]float64{"p99": 10}}}
}

// pair compares a with b, beside a's twin.
func pair() Plan {
	return Plan{Places: []Place{a, b, twin}, Pairs: [][2]Place{{a, b}}}
}

// alone looks for the capacity of a.
func alone() Plan { return Plan{Places: []Place{a}} }

var (
	twice = map[Place]float64{a: 1000, b: 2000, twin: 1000}
	alike = map[Place]float64{a: 1000, b: 1030, twin: 1000}
	most  = map[Place]float64{a: 800, b: 1600}
)

func TestOver(t *testing.T) {
	clear := log{}.work(10, twice).restarted().work(10, twice)
	for name, test := range map[string]struct {
		change func(*Plan, *scenario.Scenario)
		plan   Plan
		log    log
		given  []Place
		want   bool
	}{
		"nothing was measured":                     {plan: pair()},
		"decided, and enough votes":                {plan: pair(), log: clear.votes(16, most), want: true},
		"too few votes":                            {plan: pair(), log: clear.votes(15, most)},
		"too little work":                          {plan: alone(), log: log{}.work(10, twice).restarted().work(9, twice), change: unbounded},
		"without an SLO no votes":                  {plan: pair(), log: clear, want: true, change: unbounded},
		"not yet restarted":                        {plan: pair(), log: log{}.work(20, twice).votes(16, most)},
		"restarted for too few blocks":             {plan: pair(), log: log{}.work(20, twice).votes(16, most).restarted().work(4, twice)},
		"a target at a URL cannot be restarted":    {plan: pair(), log: log{}.work(20, twice).votes(16, most), want: true, change: atURL},
		"an exclusive block is a restart":          {plan: pair(), log: log{}.work(20, twice).votes(16, most).restarted().work(1, twice), want: true, change: exclusive},
		"not decided":                              {plan: pair(), log: log{}.work(10, alike).restarted().work(10, map[Place]float64{a: 1000, b: 950, twin: 1000}).votes(16, most)},
		"one side was given up":                    {plan: pair(), log: log{}.work(10, alike).restarted().work(10, alike).votes(16, most), given: []Place{b}, want: true},
		"only the twin is left":                    {plan: pair(), given: []Place{a, b}, want: true},
		"as many samples as requested":             {plan: pair(), log: log{}.work(10, alike), want: true, change: rounds(2)},
		"fewer samples than requested":             {plan: pair(), log: clear.votes(16, most), change: rounds(5)},
		"fewer samples, and one side was given up": {plan: pair(), log: log{}.work(5, twice), given: []Place{b}, want: true, change: rounds(5)},
		"p99 at one rate is decided": {plan: pair(), want: true, change: oneRate,
			log: log{}.atOneRate(10, map[Place]float64{a: 5, b: 8, twin: 5}).restarted().atOneRate(10, map[Place]float64{a: 5, b: 8, twin: 5})},
		"p99 at one rate is not decided": {plan: pair(), change: oneRate,
			log: log{}.atOneRate(10, map[Place]float64{a: 5, b: 8, twin: 5}).restarted().atOneRate(10, map[Place]float64{a: 5, b: 4, twin: 5})},
		"capacities are decided":            {plan: pair(), log: clear.votes(48, most), want: true, change: metric(compare.MetricCapacity)},
		"capacities are not decided":        {plan: pair(), log: clear.votes(48, map[Place]float64{a: 800, b: 805}), change: metric(compare.MetricCapacity)},
		"a rate with a limit, enough votes": {plan: pair(), log: log{}.votes(8, most).restarted().votes(8, most), want: true, change: limit},
		"a capacity with a wide interval":   {plan: alone(), log: log{}.work(10, map[Place]float64{a: 1000}).restarted().work(10, map[Place]float64{a: 1000}).votes(16, map[Place]float64{a: 800})},
		"a capacity with a narrow interval": {plan: alone(), log: log{}.work(10, map[Place]float64{a: 1000}).restarted().work(10, map[Place]float64{a: 1000}).votes(120, map[Place]float64{a: 800}), want: true},
		"one rate needs no capacity":        {plan: alone(), log: log{}.votes(5, most).restarted().votes(5, most), want: true, change: oneRate},
		"without an SLO no capacity":        {plan: alone(), log: log{}.work(10, map[Place]float64{a: 1000}).restarted().work(10, map[Place]float64{a: 1000}), want: true, change: unbounded},
	} {
		s := scheduleOf(test.plan, test.log, test.change, test.given...)
		if got := s.over(); got != test.want {
			t.Errorf("%s: over %v; undecided %v, %d work slices and %d votes of a, %d generations", name, got, s.open, s.work[a], s.votes[a], s.generations)
		}
	}
}

// scheduleOf is the schedule of a plan for a scenario with an SLO; change adapts both, if given.
func scheduleOf(p Plan, l log, change func(*Plan, *scenario.Scenario), given ...Place) *schedule {
	sc := bounded()
	if change != nil {
		change(&p, sc)
	}
	gone := map[Place]string{}
	for _, at := range given {
		gone[at] = "it failed"
	}
	return newSchedule(&p, sc, l.slices, gone, map[Place]float64{})
}

func atURL(_ *Plan, sc *scenario.Scenario)     { sc.Target.URL = "http://127.0.0.1:1" }
func exclusive(_ *Plan, sc *scenario.Scenario) { sc.Exclusive = true }
func unbounded(_ *Plan, sc *scenario.Scenario) { sc.SLO = record.SLO{} }
func limit(_ *Plan, sc *scenario.Scenario)     { sc.Load.MaxRate = 3000 }
func oneRate(p *Plan, _ *scenario.Scenario)    { p.Rate = 100 }

func rounds(n int) func(*Plan, *scenario.Scenario) {
	return func(p *Plan, _ *scenario.Scenario) { p.Rounds = n }
}

func metric(name string) func(*Plan, *scenario.Scenario) {
	return func(p *Plan, _ *scenario.Scenario) { p.Metric = name }
}

func TestKind(t *testing.T) {
	work, votes := record.SliceWork, record.SliceSLO
	clear := log{}.work(20, twice)
	for name, test := range map[string]struct {
		change func(*Plan, *scenario.Scenario)
		plan   Plan // without places: a pair
		log    log
		want   string
	}{
		"work comes first":                      {want: work},
		"votes get a third of the time":         {log: log{}.work(2, twice), want: votes},
		"work gets the rest":                    {log: log{}.work(2, twice).votes(1, most), want: work},
		"the comparison of work is decided":     {log: clear.votes(30, most), want: votes},
		"a number of samples was requested":     {log: clear.votes(30, most), want: work, change: rounds(9)},
		"without an SLO":                        {log: log{}.work(2, twice), want: work, change: unbounded},
		"at one rate":                           {want: votes, change: oneRate},
		"a rate with a limit":                   {plan: alone(), want: votes, change: limit},
		"the comparison of work is not decided": {log: log{}.work(20, alike).spread(b).votes(30, most), want: work},
		"a late answer is time of its slice":    {log: log{}.work(4, twice).waited(votes, 2*time.Second), want: work},
		"the start of processes is no slice's":  {log: log{}.work(2, twice).waitedForStart(10 * time.Second), want: votes},
	} {
		if test.plan.Places == nil {
			test.plan = pair()
		}
		if got := scheduleOf(test.plan, test.log, test.change).kind(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// waited adds a short slice after which the next one had to wait.
func (l log) waited(kind string, d time.Duration) log {
	l.slices = slices.Clone(l.slices)
	l.block++
	l.add(record.Slice{Kind: kind, Role: a.Role, Variant: a.Variant, Length: 100 * time.Millisecond})
	l.at += int64(d)
	l.add(record.Slice{Kind: record.SliceWork, Role: b.Role, Variant: b.Variant, Length: 100 * time.Millisecond})
	return l
}

// waitedForStart adds two SLO slices, shorter than their share of the time, with a restart between.
func (l log) waitedForStart(d time.Duration) log {
	short := record.Slice{Kind: record.SliceSLO, Role: a.Role, Variant: a.Variant, Length: 100 * time.Millisecond}
	l.slices = slices.Clone(l.slices)
	l.block++
	l.add(short)
	l = l.restarted()
	l.at += int64(d)
	l.add(short)
	return l
}

func TestDue(t *testing.T) {
	three := Plan{Places: []Place{a, b, c, twin}, Pairs: [][2]Place{{a, b}, {a, c}, {b, c}}}
	undecided := func(blocks int) log { // only of a and b
		return log{}.work(blocks, map[Place]float64{a: 1000, b: 1000, c: 3000, twin: 1000}).spread(b)
	}
	for name, test := range map[string]struct {
		plan   Plan
		change func(*Plan, *scenario.Scenario)
		log    log
		kind   string
		given  []Place
		want   []Place
	}{
		"all at first":                   {plan: three, kind: record.SliceWork, want: []Place{a, b, c, twin}},
		"the twin has no capacity":       {plan: three, kind: record.SliceSLO, want: []Place{a, b, c}},
		"but a latency at one rate":      {plan: three, kind: record.SliceSLO, change: oneRate, want: []Place{a, b, c, twin}},
		"not what was given up":          {plan: three, kind: record.SliceWork, given: []Place{b}, want: []Place{a, c, twin}},
		"what is undecided":              {plan: three, kind: record.SliceWork, log: undecided(21), want: []Place{a, b, twin}},
		"and the others now and then":    {plan: three, kind: record.SliceWork, log: undecided(20), want: []Place{a, b, c, twin}},
		"what lacks work":                {plan: Plan{Places: []Place{a, b, c}, Pairs: [][2]Place{{a, b}}}, kind: record.SliceWork, log: log{}.work(21, twice), want: []Place{c}},
		"at one rate neither":            {plan: three, kind: record.SliceSLO, change: oneRate, given: []Place{b}, want: []Place{a, c, twin}},
		"all when all are decided":       {plan: pair(), kind: record.SliceWork, log: log{}.work(21, twice), want: []Place{a, b, twin}},
		"all when nothing is compared":   {plan: alone(), kind: record.SliceWork, log: log{}.work(21, twice), want: []Place{a}},
		"what has no comparison at work": {plan: pair(), kind: record.SliceWork, change: limit, want: []Place{a, b, twin}},
	} {
		if got := scheduleOf(test.plan, test.log, test.change, test.given...).due(test.kind); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// spread makes the work of a place vary from batch to batch.
func (l log) spread(p Place) log {
	for i := range l.slices {
		if s := &l.slices[i]; s.Variant == p.Variant && s.Role == p.Role {
			s.Served = int64(float64(s.Served) * []float64{0.9, 1.1}[s.Block/5%2])
		}
	}
	return l
}

func TestVisit(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Plan, *scenario.Scenario)
		place  Place
		work   int
		votes  int
	}{
		"a variant":           {place: b, work: visitWork, votes: visitVotes},
		"the twin":            {place: twin, work: visitWork},
		"without an SLO":      {place: b, work: visitWork, change: unbounded},
		"at one rate":         {place: twin, votes: visitWork, change: oneRate},
		"a rate with a limit": {place: b, votes: visitVotes, change: limit},
	} {
		got := map[string]int{}
		for _, kind := range scheduleOf(pair(), log{}, test.change).visit(test.place) {
			got[kind]++
		}
		if got[record.SliceWork] != test.work || got[record.SliceSLO] != test.votes {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLasts(t *testing.T) {
	ladder := Plan{Places: []Place{a, b, c, twin}, Pairs: [][2]Place{{a, b}, {a, c}}}
	const s = time.Second
	for name, test := range map[string]struct {
		plan        Plan
		change      func(*Plan, *scenario.Scenario)
		n           int
		start, left time.Duration
		want        time.Duration
	}{
		"a quick start":                               {plan: ladder, n: 1, start: s, left: 240 * s, want: 20 * s},
		"a slow start":                                {plan: ladder, n: 1, start: 5 * s, left: 240 * s, want: 40 * s},
		"the rest is too short for another":           {plan: ladder, n: 1, start: s, left: 29 * s, want: 29 * s},
		"the rest is long enough for another":         {plan: ladder, n: 1, start: s, left: 30 * s, want: 20 * s},
		"no time is left":                             {plan: ladder, n: 1, start: s, left: -s, want: -s},
		"two sides share a short time":                {plan: pair(), n: 1, start: s, left: 24 * s, want: 12 * s},
		"the second of two sides takes the rest":      {plan: pair(), n: 2, start: s, left: 12 * s, want: 12 * s},
		"two sides that start too slowly for a half":  {plan: pair(), n: 1, start: 7 * s, left: 24 * s, want: 24 * s},
		"a capacity has no sides":                     {plan: alone(), n: 1, start: s, left: 24 * s, want: 24 * s},
		"a target at a URL takes all of the time":     {plan: pair(), n: 1, left: 240 * s, want: 240 * s, change: atURL},
		"two sides with much time take a usual share": {plan: pair(), n: 1, start: s, left: 240 * s, want: 20 * s},
	} {
		if got := scheduleOf(test.plan, log{}, test.change).lasts(test.n, test.start, test.left); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestFailing(t *testing.T) {
	outcomes := func(p Place, invalid ...string) (all []record.Slice) {
		for _, why := range invalid {
			all = append(all, record.Slice{Role: p.Role, Variant: p.Variant, Invalid: why})
		}
		return all
	}
	for name, test := range map[string]struct {
		all  []record.Slice
		want string
	}{
		"nothing was measured":      {},
		"three in a row":            {outcomes(a, "", "one", "two", "three"), "three"},
		"two in a row":              {outcomes(a, "", "one", "two"), ""},
		"interrupted by a success":  {outcomes(a, "one", "two", "", "three"), ""},
		"those of its twin":         {outcomes(twin, "one", "two", "three"), ""},
		"with another place's turn": {slices.Concat(outcomes(a, "one", "two"), outcomes(b, ""), outcomes(a, "three")), "three"},
	} {
		if got := failing(test.all, a); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A place that does not start is given up if others were measured, or may be left out.
func TestSpares(t *testing.T) {
	for name, test := range map[string]struct {
		plan  Plan
		place Place
		all   []record.Slice
		want  bool
	}{
		"at first":                     {plan: Plan{Places: []Place{a, b}}, place: b},
		"later":                        {plan: Plan{Places: []Place{a, b}}, place: a, all: make([]record.Slice, 1), want: true},
		"one of several at first":      {plan: Plan{Places: []Place{a, b}, Spare: true}, place: b, want: true},
		"the first of several, though": {plan: Plan{Places: []Place{a, b}, Spare: true}, place: a},
	} {
		test.plan.Exp = &record.Experiment{Slices: test.all}
		if got := test.plan.spares(test.place); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Rows that are used up restart the processes, unless they do not last for one block; that they
// last for too few is one warning.
func TestRenew(t *testing.T) {
	said := 0
	programs := &environment.Programs{Say: func(string) { said++ }}
	turns := &turns{exp: &record.Experiment{}, gen: generator.New(programs), programs: programs}
	used := &usedUp{&seat{place: a}}
	for _, test := range []struct {
		blocks   int
		fault    bool
		warnings int
	}{{0, true, 0}, {5, false, 0}, {4, false, 1}, {1, false, 1}} {
		err := turns.renew(used, test.blocks, time.Second)
		if fault := (*scenario.Fault)(nil); errors.As(err, &fault) != test.fault || len(turns.exp.Warnings) != test.warnings || said != test.warnings {
			t.Errorf("after %d blocks: %v, warnings %q, %d reported", test.blocks, err, turns.exp.Warnings, said)
		}
	}
	if w := turns.exp.Warnings[0]; !strings.Contains(w, "fewer than 5") {
		t.Error(w)
	}
}

// The next rate is the plan's, or one near the peak work rate: that of the work slices that count,
// or of the warm-up.
func TestPeak(t *testing.T) {
	l := log{}.work(5, twice)
	l.slices = append(l.slices, record.Slice{Kind: record.SliceWork, Role: a.Role, Variant: a.Variant, Length: time.Second, Served: 9, Invalid: "it ended"})
	if got := peak(l.slices, a, 7); got < 990 || got > 1010 {
		t.Errorf("%g/s", got)
	}
	if got := peak(l.slices, c, 7); got != 7 {
		t.Errorf("%g/s, want the warm-up's", got)
	}
	if got := nextRate(nil, c, 1000, 400, 0.5); got <= 0 || got > 400 {
		t.Errorf("%g/s, want at most the limit", got)
	}
}
