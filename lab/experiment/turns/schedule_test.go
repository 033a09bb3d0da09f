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
	a       = Arm{record.RoleMeasure, "a"}
	b       = Arm{record.RoleMeasure, "b"}
	c       = Arm{record.RoleMeasure, "c"}
	control = Arm{record.RoleControl, "a"}
)

// log collects the slices of a simulated experiment, in order.
type log struct {
	slices  []record.Slice
	restart int
	round   int
	at      int64
}

func (l *log) add(s record.Slice) {
	s.Generation, s.Block, s.Start = max(l.restart, 1), l.round, l.at
	l.at += int64(s.Length)
	l.slices = append(l.slices, s)
}

// inOrder visits the arms of a round, always in the same order.
func inOrder(of map[Arm]float64) iter.Seq2[Arm, float64] {
	return func(yield func(Arm, float64) bool) {
		for _, p := range []Arm{a, b, c, control} {
			if value, ok := of[p]; ok && !yield(p, value) {
				return
			}
		}
	}
}

// work adds rounds in which each arm works at its rate, plus or minus half a percent.
func (l log) work(rounds int, perS map[Arm]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range rounds {
		l.round++
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

// trials adds rounds of SLO slices at rates around the highest one at which each arm meets the
// SLO.
func (l log) trials(rounds int, most map[Arm]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range rounds {
		l.round++
		for p, rate := range inOrder(most) {
			near := []float64{0.9, 0.97, 0.99, 1.01, 1.03, 1.1}[i%6]
			l.add(record.Slice{Kind: record.SliceSLO, Role: p.Role, Variant: p.Variant, Length: 800 * time.Millisecond, Rate: near * rate, Met: near < 1})
		}
	}
	return l
}

// atOneRate adds rounds of SLO slices at 100/s, with a p99 for each arm, in ms.
func (l log) atOneRate(rounds int, p99 map[Arm]float64) log {
	l.slices = slices.Clone(l.slices)
	for i := range rounds {
		l.round++
		for p, ms := range inOrder(p99) {
			l.add(record.Slice{Kind: record.SliceSLO, Role: p.Role, Variant: p.Variant, Length: 800 * time.Millisecond, Rate: 100, Served: 80, Met: true,
				Latency: record.Quantiles{P99: ms * (1 + 0.01*float64(i%3))}})
		}
	}
	return l
}

// restarted goes on with new processes.
func (l log) restarted() log {
	l.restart = max(l.restart, 1) + 1
	return l
}

func bounded() *scenario.Scenario {
	return &scenario.Scenario{SLO: record.SLO{Latency: map[string]float64{"p99": 10}}}
}

// pair compares a with b, with a's control.
func pair() Plan {
	return Plan{Arms: []Arm{a, b, control}, Comparisons: [][2]Arm{{a, b}}}
}

// alone searches the capacity of a.
func alone() Plan { return Plan{Arms: []Arm{a}} }

var (
	twice = map[Arm]float64{a: 1000, b: 2000, control: 1000}
	alike = map[Arm]float64{a: 1000, b: 1030, control: 1000}
	most  = map[Arm]float64{a: 800, b: 1600}
)

func TestOver(t *testing.T) {
	clear := log{}.work(10, twice).restarted().work(10, twice)
	for name, test := range map[string]struct {
		change  func(*Plan, *scenario.Scenario)
		plan    Plan
		log     log
		dropped []Arm
		want    bool
	}{
		"nothing was measured":                    {plan: pair()},
		"decided, and enough trials":              {plan: pair(), log: clear.trials(16, most), want: true},
		"too few trials":                          {plan: pair(), log: clear.trials(15, most)},
		"too little work":                         {plan: alone(), log: log{}.work(10, twice).restarted().work(9, twice), change: unbounded},
		"without an SLO no trials":                {plan: pair(), log: clear, want: true, change: unbounded},
		"not yet restarted":                       {plan: pair(), log: log{}.work(20, twice).trials(16, most)},
		"restarted for too few rounds":            {plan: pair(), log: log{}.work(20, twice).trials(16, most).restarted().work(4, twice)},
		"a target at a URL cannot be restarted":   {plan: pair(), log: log{}.work(20, twice).trials(16, most), want: true, change: atURL},
		"an exclusive round is a restart":         {plan: pair(), log: log{}.work(20, twice).trials(16, most).restarted().work(1, twice), want: true, change: exclusive},
		"not decided":                             {plan: pair(), log: log{}.work(10, alike).restarted().work(10, map[Arm]float64{a: 1000, b: 950, control: 1000}).trials(16, most)},
		"one side was dropped":                    {plan: pair(), log: log{}.work(10, alike).restarted().work(10, alike).trials(16, most), dropped: []Arm{b}, want: true},
		"only the control is left":                {plan: pair(), dropped: []Arm{a, b}, want: true},
		"as many samples as requested":            {plan: pair(), log: log{}.work(10, alike), want: true, change: rounds(2)},
		"fewer samples than requested":            {plan: pair(), log: clear.trials(16, most), change: rounds(5)},
		"fewer samples, and one side was dropped": {plan: pair(), log: log{}.work(5, twice), dropped: []Arm{b}, want: true, change: rounds(5)},
		"p99 at one rate is decided": {plan: pair(), want: true, change: oneRate,
			log: log{}.atOneRate(10, map[Arm]float64{a: 5, b: 8, control: 5}).restarted().atOneRate(10, map[Arm]float64{a: 5, b: 8, control: 5})},
		"p99 at one rate is not decided": {plan: pair(), change: oneRate,
			log: log{}.atOneRate(10, map[Arm]float64{a: 5, b: 8, control: 5}).restarted().atOneRate(10, map[Arm]float64{a: 5, b: 4, control: 5})},
		"capacities are decided":             {plan: pair(), log: clear.trials(48, most), want: true, change: metric(compare.MetricCapacity)},
		"capacities are not decided":         {plan: pair(), log: clear.trials(48, map[Arm]float64{a: 800, b: 805}), change: metric(compare.MetricCapacity)},
		"a rate with a limit, enough trials": {plan: pair(), log: log{}.trials(8, most).restarted().trials(8, most), want: true, change: limit},
		"a capacity with a wide interval":    {plan: alone(), log: log{}.work(10, map[Arm]float64{a: 1000}).restarted().work(10, map[Arm]float64{a: 1000}).trials(16, map[Arm]float64{a: 800})},
		"a capacity with a narrow interval":  {plan: alone(), log: log{}.work(10, map[Arm]float64{a: 1000}).restarted().work(10, map[Arm]float64{a: 1000}).trials(120, map[Arm]float64{a: 800}), want: true},
		"one rate needs no capacity":         {plan: alone(), log: log{}.trials(5, most).restarted().trials(5, most), want: true, change: oneRate},
		"without an SLO no capacity":         {plan: alone(), log: log{}.work(10, map[Arm]float64{a: 1000}).restarted().work(10, map[Arm]float64{a: 1000}), want: true, change: unbounded},
	} {
		s := scheduleOf(test.plan, test.log, test.change, test.dropped...)
		if got := s.over(); got != test.want {
			t.Errorf("%s: over %v; undecided %v, %d work slices and %d trials of a, %d restarts", name, got, s.undecided, s.work[a], s.trials[a], s.restarts)
		}
	}
}

// scheduleOf returns the schedule of a plan for a scenario with an SLO; change, unless nil,
// adapts both.
func scheduleOf(p Plan, l log, change func(*Plan, *scenario.Scenario), dropped ...Arm) *schedule {
	sc := bounded()
	if change != nil {
		change(&p, sc)
	}
	gone := map[Arm]string{}
	for _, at := range dropped {
		gone[at] = "it failed"
	}
	return newSchedule(&p, sc, l.slices, gone, map[Arm]float64{})
}

func atURL(_ *Plan, sc *scenario.Scenario)     { sc.Target.URL = "http://127.0.0.1:1" }
func exclusive(_ *Plan, sc *scenario.Scenario) { sc.Exclusive = true }
func unbounded(_ *Plan, sc *scenario.Scenario) { sc.SLO = record.SLO{} }
func limit(_ *Plan, sc *scenario.Scenario)     { sc.Load.MaxRate = 3000 }
func oneRate(p *Plan, _ *scenario.Scenario)    { p.Rate = 100 }

func rounds(n int) func(*Plan, *scenario.Scenario) {
	return func(p *Plan, _ *scenario.Scenario) { p.Samples = n }
}

func metric(name string) func(*Plan, *scenario.Scenario) {
	return func(p *Plan, _ *scenario.Scenario) { p.Metric = name }
}

func TestKind(t *testing.T) {
	work, trials := record.SliceWork, record.SliceSLO
	clear := log{}.work(20, twice)
	for name, test := range map[string]struct {
		change func(*Plan, *scenario.Scenario)
		plan   Plan // without arms: compare a with b
		log    log
		want   string
	}{
		"work comes first":                      {want: work},
		"trials get a third of the time":        {log: log{}.work(2, twice), want: trials},
		"work gets the rest":                    {log: log{}.work(2, twice).trials(1, most), want: work},
		"the comparison of work is decided":     {log: clear.trials(30, most), want: trials},
		"a number of samples was requested":     {log: clear.trials(30, most), want: work, change: rounds(9)},
		"without an SLO":                        {log: log{}.work(2, twice), want: work, change: unbounded},
		"at one rate":                           {want: trials, change: oneRate},
		"a rate with a limit":                   {plan: alone(), want: trials, change: limit},
		"the comparison of work is not decided": {log: log{}.work(20, alike).spread(b).trials(30, most), want: work},
		"a late answer is time of its slice":    {log: log{}.work(4, twice).waited(trials, 2*time.Second), want: work},
		"the start of processes is no slice's":  {log: log{}.work(2, twice).waitedForStart(10 * time.Second), want: trials},
	} {
		if test.plan.Arms == nil {
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
	l.round++
	l.add(record.Slice{Kind: kind, Role: a.Role, Variant: a.Variant, Length: 100 * time.Millisecond})
	l.at += int64(d)
	l.add(record.Slice{Kind: record.SliceWork, Role: b.Role, Variant: b.Variant, Length: 100 * time.Millisecond})
	return l
}

// waitedForStart adds two SLO slices, shorter than their share of the time, with a restart between.
func (l log) waitedForStart(d time.Duration) log {
	short := record.Slice{Kind: record.SliceSLO, Role: a.Role, Variant: a.Variant, Length: 100 * time.Millisecond}
	l.slices = slices.Clone(l.slices)
	l.round++
	l.add(short)
	l = l.restarted()
	l.at += int64(d)
	l.add(short)
	return l
}

func TestDue(t *testing.T) {
	three := Plan{Arms: []Arm{a, b, c, control}, Comparisons: [][2]Arm{{a, b}, {a, c}, {b, c}}}
	undecided := func(rounds int) log { // only the comparison of a with b
		return log{}.work(rounds, map[Arm]float64{a: 1000, b: 1000, c: 3000, control: 1000}).spread(b)
	}
	for name, test := range map[string]struct {
		plan    Plan
		change  func(*Plan, *scenario.Scenario)
		log     log
		kind    string
		dropped []Arm
		want    []Arm
	}{
		"all at first":                   {plan: three, kind: record.SliceWork, want: []Arm{a, b, c, control}},
		"the control has no capacity":    {plan: three, kind: record.SliceSLO, want: []Arm{a, b, c}},
		"but a latency at one rate":      {plan: three, kind: record.SliceSLO, change: oneRate, want: []Arm{a, b, c, control}},
		"not what was dropped":           {plan: three, kind: record.SliceWork, dropped: []Arm{b}, want: []Arm{a, c, control}},
		"what is undecided":              {plan: three, kind: record.SliceWork, log: undecided(21), want: []Arm{a, b, control}},
		"and the others now and then":    {plan: three, kind: record.SliceWork, log: undecided(20), want: []Arm{a, b, c, control}},
		"what lacks work":                {plan: Plan{Arms: []Arm{a, b, c}, Comparisons: [][2]Arm{{a, b}}}, kind: record.SliceWork, log: log{}.work(21, twice), want: []Arm{c}},
		"at one rate neither":            {plan: three, kind: record.SliceSLO, change: oneRate, dropped: []Arm{b}, want: []Arm{a, c, control}},
		"all when all are decided":       {plan: pair(), kind: record.SliceWork, log: log{}.work(21, twice), want: []Arm{a, b, control}},
		"all when nothing is compared":   {plan: alone(), kind: record.SliceWork, log: log{}.work(21, twice), want: []Arm{a}},
		"what has no comparison at work": {plan: pair(), kind: record.SliceWork, change: limit, want: []Arm{a, b, control}},
	} {
		if got := scheduleOf(test.plan, test.log, test.change, test.dropped...).due(test.kind); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// spread makes an arm's work vary from batch to batch.
func (l log) spread(p Arm) log {
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
		arm    Arm
		work   int
		trials int
	}{
		"a variant":           {arm: b, work: visitWork, trials: visitTrials},
		"the control":         {arm: control, work: visitWork},
		"without an SLO":      {arm: b, work: visitWork, change: unbounded},
		"at one rate":         {arm: control, trials: visitWork, change: oneRate},
		"a rate with a limit": {arm: b, trials: visitTrials, change: limit},
	} {
		got := map[string]int{}
		for _, kind := range scheduleOf(pair(), log{}, test.change).visit(test.arm) {
			got[kind]++
		}
		if got[record.SliceWork] != test.work || got[record.SliceSLO] != test.trials {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLasts(t *testing.T) {
	ladder := Plan{Arms: []Arm{a, b, c, control}, Comparisons: [][2]Arm{{a, b}, {a, c}}}
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
	outcomes := func(p Arm, invalid ...string) (all []record.Slice) {
		for _, why := range invalid {
			all = append(all, record.Slice{Role: p.Role, Variant: p.Variant, Invalid: why})
		}
		return all
	}
	for name, test := range map[string]struct {
		all  []record.Slice
		want string
	}{
		"nothing was measured":     {},
		"three in a row":           {outcomes(a, "", "one", "two", "three"), "three"},
		"two in a row":             {outcomes(a, "", "one", "two"), ""},
		"interrupted by a success": {outcomes(a, "one", "two", "", "three"), ""},
		"those of its control":     {outcomes(control, "one", "two", "three"), ""},
		"with another arm's turn":  {slices.Concat(outcomes(a, "one", "two"), outcomes(b, ""), outcomes(a, "three")), "three"},
	} {
		if got := failing(test.all, a); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// An arm that does not start is dropped if something was measured before, or if the plan permits
// it.
func TestSpares(t *testing.T) {
	for name, test := range map[string]struct {
		plan Plan
		arm  Arm
		all  []record.Slice
		want bool
	}{
		"at first":                     {plan: Plan{Arms: []Arm{a, b}}, arm: b},
		"later":                        {plan: Plan{Arms: []Arm{a, b}}, arm: a, all: make([]record.Slice, 1), want: true},
		"one of several at first":      {plan: Plan{Arms: []Arm{a, b}, DropUnstarted: true}, arm: b, want: true},
		"the first of several, though": {plan: Plan{Arms: []Arm{a, b}, DropUnstarted: true}, arm: a},
	} {
		test.plan.Exp = &record.Experiment{Slices: test.all}
		if got := test.plan.dropsUnstarted(test.arm); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Rows that are used up restart the processes, unless they do not last for one round. If they
// last for too few rounds, there is a single warning.
func TestRenew(t *testing.T) {
	warned := 0
	programs := &environment.Programs{Say: func(string) { warned++ }}
	turns := &turns{exp: &record.Experiment{}, gen: generator.New(programs), programs: programs}
	used := &usedUp{&instance{arm: a}}
	for _, test := range []struct {
		rounds   int
		fault    bool
		warnings int
	}{{0, true, 0}, {5, false, 0}, {4, false, 1}, {1, false, 1}} {
		err := turns.renew(used, test.rounds, time.Second)
		if fault := (*scenario.Fault)(nil); errors.As(err, &fault) != test.fault || len(turns.exp.Warnings) != test.warnings || warned != test.warnings {
			t.Errorf("after %d rounds: %v, warnings %q, %d reported", test.rounds, err, turns.exp.Warnings, warned)
		}
	}
	if w := turns.exp.Warnings[0]; !strings.Contains(w, "fewer than 5") {
		t.Error(w)
	}
}

// The next rate is the plan's, or one near the peak work rate, which comes from the valid work
// slices or from the warm-up.
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
