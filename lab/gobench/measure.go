package gobench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"dyno/lab/compare"
)

// round is what one generation measured of a benchmark: blocks in which each side had a slice.
type round struct {
	confirms bool // it is of fresh samples, after the screen
	blocks   []block
	own      time.Duration // its slices
	cost     time.Duration // its slices, and its share of the linking
}

// block has the figures of a slice of each side by unit.
type block [2]map[string]float64

const (
	// screenShare is the part of the budget after which the screen ends, the pilot included.
	screenShare = 0.5
	// fewToScreen is the number of benchmarks up to which there is no screen: its time is worth more than
	// the correction for all that could differ.
	fewToScreen = 2
	// longScreenShare is that if a screen is longer so that all benchmarks have MinSamples generations.
	longScreenShare = 0.7
	// suspicion is the p-value below which the screen suspects a change. It is no verdict, so that it
	// may be high: what is not suspected cannot be found.
	suspicion = 0.2
	// leastConfirm is the number of generations that the time to confirm must suffice for: with fewer
	// suspects each gets more.
	leastConfirm = 8
	// mostFailures is the number of failures in a row after which a benchmark is given up.
	mostFailures = 2
	// firstLimit is how long a first slice may take beyond a multiple of what it should: it must not take
	// the time of all others.
	firstLimit = 5 * time.Second
	// few is the number of benchmarks of which the first generation is taken whatever the time: its slices
	// take 6 s.
	few = 10
	// mostBlocks bounds the blocks of a generation. Linking costs as much as several slices: with few
	// benchmarks to a package, more blocks share it.
	mostBlocks = 5
)

// measure takes generations: first of all benchmarks, then to confirm what is suspected, and in the
// time that is left of what is not decided.
func (r *run) measure(ctx context.Context) error {
	screen := r.began.Add(time.Duration(screenShare * float64(r.Budget)))
	longest := r.began.Add(time.Duration(longScreenShare * float64(r.Budget)))
	if len(r.benchmarks) <= fewToScreen {
		r.suspectAll()
		screen = r.began // there is none
	}
	r.expect()
	var decide map[*benchmark]bool // whose gates the rest of the time decides
	for number, phase := range []struct {
		until  time.Time
		before func()
		choose func(*benchmark) bool
	}{
		{screen, nil, func(b *benchmark) bool { return !r.settled(b) && !r.inside(b) }},
		{longest, nil, func(b *benchmark) bool { return r.short(b) && r.suspected == 0 && r.reaches(longest) }},
		{r.deadline, nil, func(b *benchmark) bool { return b.confirming() && !r.settled(b) && !r.dropped(b) }},
		{r.deadline, func() { r.suspectLater(); decide = r.decidable(r.deadline) }, func(b *benchmark) bool { return decide[b] }},
		{r.deadline, r.suspectLater, func(b *benchmark) bool { return !r.settled(b) }},
	} {
		for {
			if phase.before != nil {
				phase.before()
			}
			todo := r.choose(phase.choose)
			if len(todo) == 0 {
				break
			}
			ran, err := r.generate(ctx, todo, phase.until)
			if err != nil {
				return err
			}
			if !ran {
				break
			}
		}
		if number == 1 && r.suspected == 0 {
			r.suspect()
		}
	}
	return nil
}

// short reports whether a benchmark has too few generations to be suspected by a p-value.
func (r *run) short(b *benchmark) bool {
	return len(b.rounds) < compare.MinSamples && !r.settled(b)
}

// reaches reports whether the time until then suffices for all benchmarks that are short.
func (r *run) reaches(until time.Time) bool {
	left := time.Until(until)
	for _, b := range r.benchmarks {
		if r.short(b) {
			left -= time.Duration(compare.MinSamples-len(b.rounds)) * b.cost()
		}
	}
	return left >= 0
}

// choose lists the benchmarks that fulfil a condition, by package.
func (r *run) choose(want func(*benchmark) bool) (todo [][]*benchmark) {
	for _, b := range r.benchmarks {
		if b.pkg.broken != "" || b.failures >= mostFailures || !want(b) {
			continue
		}
		if last := len(todo) - 1; last >= 0 && todo[last][0].pkg == b.pkg {
			todo[last] = append(todo[last], b)
			continue
		}
		todo = append(todo, []*benchmark{b})
	}
	return todo
}

// cost is the mean time of a generation with its share of the linking.
func (r *run) cost(b *benchmark) time.Duration {
	if len(b.rounds) > 0 {
		return b.cost()
	}
	shared := 0
	for _, x := range r.benchmarks {
		if x.pkg == b.pkg {
			shared++
		}
	}
	return b.cost() + b.pkg.linking/time.Duration(max(1, shared))
}

// cost is the mean time of a generation or, before the first, about what it should take.
func (b *benchmark) cost() (mean time.Duration) {
	if len(b.rounds) == 0 {
		return 2 * b.length
	}
	for _, x := range b.rounds {
		mean += x.cost / time.Duration(len(b.rounds))
	}
	return mean
}

// blockTime is how long a block of the benchmark took last or, before the first, should take.
func (b *benchmark) blockTime() time.Duration {
	if n := len(b.rounds); n > 0 {
		return b.rounds[n-1].own / time.Duration(len(b.rounds[n-1].blocks))
	}
	return 2 * b.length
}

// generate takes one generation of each package, in random order, as far as the time suffices. It
// reports whether it took one.
func (r *run) generate(ctx context.Context, todo [][]*benchmark, until time.Time) (ran bool, err error) {
	r.generation++
	r.random.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	fewest := func(list []*benchmark) int { return len(slices.MinFunc(list, byRounds).rounds) }
	slices.SortStableFunc(todo, func(x, y []*benchmark) int { return fewest(x) - fewest(y) })
	for _, list := range todo {
		if list = r.fitting(list, until); len(list) == 0 {
			continue
		}
		if err := r.generatePackage(ctx, list, until); err != nil {
			return ran, err
		}
		ran = true
	}
	return ran, nil
}

func byRounds(x, y *benchmark) int { return len(x.rounds) - len(y.rounds) }

// fitting returns the benchmarks of a package for which the time suffices, those with the fewest
// generations first: where it does not suffice for all, each gets as many as another. The first
// generation of a benchmark may take all of the time and, of few, more: without it there is nothing to show.
func (r *run) fitting(list []*benchmark, until time.Time) (fit []*benchmark) {
	r.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, byRounds)
	end := time.Now().Add(list[0].pkg.linking)
	for _, b := range list {
		limit, length := until, max(2*b.length, b.blockTime())
		if len(b.rounds) == 0 {
			limit = r.deadline
		}
		first := r.generation == 1 && (len(r.benchmarks) <= few || len(fit) == 0 && time.Now().Before(r.deadline))
		if end.Add(length).After(limit) && !first {
			continue // a shorter one may fit
		}
		end, fit = end.Add(length), append(fit, b)
	}
	return fit
}

// generatePackage links both sides of a package with new orders of functions, and lets its
// benchmarks take turns.
func (r *run) generatePackage(ctx context.Context, list []*benchmark, until time.Time) error {
	p := list[0].pkg
	if err := r.clear(); err != nil {
		return err
	}
	r.turn(r.generation, "linking "+p.path)
	began := time.Now()
	paths, err := r.link(ctx, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		p.broken = "it cannot be linked again: " + firstLine(err.Error())
		return nil
	}
	p.linking = time.Since(began)
	blocks := r.blocks(list, until)
	taken := make([]round, len(list))
	bases := make([][2]time.Duration, len(list))
	// What was taken before an interruption counts.
	defer func() {
		for i, b := range list {
			if len(taken[i].blocks) > 0 {
				taken[i].confirms = b.confirming()
				taken[i].cost = taken[i].own + p.linking/time.Duration(len(list))
				b.rounds = append(b.rounds, taken[i])
			}
		}
	}()
	for number := range blocks {
		for _, i := range r.random.Perm(len(list)) {
			if list[i].failures >= mostFailures {
				continue
			}
			from := time.Now()
			if from.After(r.deadline) && number > 0 && (len(list[i].rounds) > 0 || number >= r.leastBlocks()) {
				continue
			}
			err := r.block(ctx, list[i], paths, len(taken[i].blocks), &taken[i], &bases[i])
			if err != nil {
				return err
			}
			taken[i].own += time.Since(from)
		}
	}
	return nil
}

// clear removes what benchmarks have left in their folder for temporary files.
func (r *run) clear() error {
	return errors.Join(os.RemoveAll(r.scratch()), os.MkdirAll(r.scratch(), 0o755))
}

// leastBlocks is the number of blocks that a first generation takes, whatever the time: of few
// benchmarks, those that show exact allocations, unless the pilot has counted them.
func (r *run) leastBlocks() int {
	if len(r.benchmarks) <= few && slices.ContainsFunc(r.benchmarks, func(b *benchmark) bool { return len(b.look.blocks) < exactSlices }) {
		return exactSlices
	}
	return 1
}

// blocks returns the number of blocks of a generation: slices take at least as long as linking, and
// two blocks show what layouts move apart from what slices do. With little time, more generations
// are worth more.
func (r *run) blocks(list []*benchmark, until time.Time) int {
	if len(list[0].rounds) == 0 {
		return r.leastBlocks()
	}
	length := time.Duration(1)
	for _, b := range list {
		length += b.blockTime()
	}
	all := list[0].pkg.linking
	for _, b := range r.benchmarks {
		all += b.blockTime()
	}
	if time.Until(until) < compare.MinSamples*2*all {
		return 1
	}
	return int(min(max(2, (list[0].pkg.linking+length-1)/length), mostBlocks))
}

// block gives each side of a benchmark a slice, in random order. bases are the CPU times of starting
// each side, which the first block of a generation measures.
func (r *run) block(ctx context.Context, b *benchmark, paths [2]string, number int, into *round, bases *[2]time.Duration) error {
	var figures block
	var errs [2]error
	first := r.random.IntN(2)
	for _, side := range []int{first, 1 - first} {
		r.turn(r.generation, b.title())
		j := job{paths[side], b.pkg.sides[side].dir, b.pattern(), b.procs, b.count, "2x", b.length, 0, ""}
		if number == 0 && b.n >= leastN && !b.single {
			o, err := r.runJob(ctx, j)
			if err != nil {
				return err
			}
			if bases[side] = o.cpu; o.err != nil {
				errs[side] = o.err
				continue // the other side shows whether it fails too
			}
		}
		j.time = fmt.Sprintf("%dx", b.n)
		if len(b.rounds) == 0 && len(into.blocks) == 0 && b.n > leastN { // all blocks of a generation have one n
			j.limit = b.firstLimit()
		}
		o, err := r.runJob(ctx, j)
		if err != nil {
			return err
		}
		if o.late && j.limit > 0 {
			b.fewer() // in the next generation
			return nil
		}
		if o.err != nil {
			errs[side] = o.err
			continue
		}
		for unit, better := range o.units {
			r.units[unit] = better
		}
		if figures[side] = slice(o.readings, b); figures[side] == nil {
			errs[side] = errors.New("it prints no result")
			continue
		}
		// Both processes run each benchmark with 1 iteration first, unless it loops by b.Loop; then
		// with 2 and n, each as often as count says. So the difference is that of n-2 iterations.
		if used := o.cpu - bases[side]; b.single {
			figures[side][CPU] = figures[side][Time]
			b.busy[side] = append(b.busy[side], float64(o.cpu)/float64(max(1, o.wall)))
		} else if b.n >= leastN && used > 0 {
			figures[side][CPU] = float64(used) / float64(b.count*(b.n-2))
		}
	}
	if errs != [2]error{} {
		r.fail(b, errs)
		return nil
	}
	b.failures = 0
	into.blocks = append(into.blocks, figures)
	return nil
}

// firstLimit is how long a first slice of the benchmark may take.
func (b *benchmark) firstLimit() time.Duration { return firstLimit + 20*b.length }

// fewer makes slices of fewer iterations, since a first one was late: its operations take longer the more there
// are, or longer than it reports.
func (b *benchmark) fewer() { b.n, b.length = max(leastN, b.n/10), b.length/10 }

// fail counts a failure of a benchmark; after too many, it is given up.
func (r *run) fail(b *benchmark, errs [2]error) {
	if b.failures++; b.failures < mostFailures {
		return
	}
	for side, err := range errs {
		if err != nil {
			r.skipFailed(side, b.pkg.path, bareSuffix(b.name, b.procs), err.Error())
		}
	}
}
