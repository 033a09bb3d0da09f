// Package progress shows how far an experiment has come: one line that is rewritten on a terminal,
// a line for each run or round elsewhere.
//
// It is not for the result (packages text and html) or for a browser (live). It starts no
// goroutines; those of the executor may call it concurrently.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/screen"

	"golang.org/x/term"
)

// View shows one experiment; experiment.Options.Progress takes it.
type View struct {
	mu    sync.Mutex
	out   *os.File
	text  io.Writer // to out, for all that is shown
	live  bool
	began time.Time
	n     int
	total int
	step  record.RunSpec
	drawn time.Time
}

// New returns a view whose clock starts now.
func New(out *os.File) *View {
	return &View{out: out, text: screen.New(out), live: term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb", began: time.Now()}
}

// redraw is the interval between changes of the live line: short enough to seem alive, long
// enough to cost nothing.
const redraw = 200 * time.Millisecond

// Say prints an event as a sentence.
func (v *View) Say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	fmt.Fprintln(v.text, text)
}

// Step announces the n-th of about total runs.
func (v *View) Step(n, total int, s record.RunSpec) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n, v.total, v.step = n, total, s
}

// Window reports 100 ms of the current run: on a terminal as the live line.
func (v *View) Window(w record.Window) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.live || time.Since(v.drawn) < redraw {
		return
	}
	v.drawn = time.Now()
	c := w.Client
	line := fmt.Sprintf("%s  run %d of ~%d  %s  %s", v.Elapsed(), v.n, v.total, describe(v.step, "connections"), w.Phase)
	const perSecond = int64(time.Second / record.WindowLength)
	if c.Frames > 0 {
		line += fmt.Sprintf("  received %d frames/s", c.Frames*perSecond)
	}
	if c.Frames == 0 || c.Offered > 0 || c.Ended > 0 {
		line += fmt.Sprintf("  sent %d/s  p99 %s", c.Sent*perSecond, ms(c.P99Ms))
	}
	if c.DeliveryP99Ms > 0 {
		line += "  delivered p99 " + ms(c.DeliveryP99Ms)
	}
	v.clear()
	fmt.Fprint(v.text, clip(line, v.width()))
}

// Done prints a finished run.
func (v *View) Done(r *record.Run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	t, noun := r.Totals, "connections"
	if r.Axis() == record.AxisSessions {
		noun = "sessions"
	}
	fmt.Fprintf(v.text, "%s  run %d of ~%d  %-34s ", v.Elapsed(), v.n, v.total, describe(r.Spec, noun))
	if t.ReceiveOnly() {
		fmt.Fprintf(v.text, "%8.0f frames/s", t.FramesPerS())
	} else {
		fmt.Fprintf(v.text, "%8.0f/s done", t.ThroughputPerS)
	}
	if r.Spec.Role != record.RoleProfile && !t.ReceiveOnly() { // its latency does not count
		fmt.Fprint(v.text, ", p99 ", ms(t.Response.P99))
		if t.Delivered > 0 {
			fmt.Fprint(v.text, ", delivered p99 ", ms(t.Delivery.P99))
		}
	}
	if r.Invalid != "" {
		fmt.Fprint(v.text, "  does not count")
	}
	fmt.Fprintln(v.text)
}

// Slice reports a turn: on a terminal as the live line, elsewhere one line for every round.
func (v *View) Slice(s record.Slice, left time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.due(s.Block) {
		return
	}
	what := fmt.Sprintf("worked at %.0f/s", s.PerS())
	switch {
	case s.Invalid != "":
		what = s.Invalid
	case s.Kind == record.SliceSLO && capacity.WhyExcluded(&s) != "":
		what = fmt.Sprintf("not judged at %.0f/s: %s", s.Rate, capacity.WhyExcluded(&s))
	case s.Kind == record.SliceSLO && s.Met:
		what = fmt.Sprintf("met the SLO at %.0f/s, p99 %s", s.Rate, ms(s.Latency.P99))
	case s.Kind == record.SliceSLO:
		what = fmt.Sprintf("missed the SLO at %.0f/s, p99 %s", s.Rate, ms(s.Latency.P99))
	}
	v.turn(fmt.Sprintf("block %d  %s %s", s.Block, s.Variant, what), left)
}

// Turn reports a turn of a benchmark in the given generation of layouts, as Slice does.
func (v *View) Turn(generation int, text string, left time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.due(generation) {
		v.turn(fmt.Sprintf("generation %d  %s", generation, text), left)
	}
}

// due reports whether a turn of a round is shown.
func (v *View) due(round int) bool {
	if !v.live && round == v.n {
		return false
	}
	v.n = round
	if v.live && time.Since(v.drawn) < redraw {
		return false
	}
	v.drawn = time.Now()
	return true
}

func (v *View) turn(text string, left time.Duration) {
	line := v.Elapsed() + "  " + text
	if left > 0 {
		line += fmt.Sprintf("  at most %s of turns left", left.Round(time.Second))
	}
	v.clear()
	if v.live {
		fmt.Fprint(v.text, clip(line, v.width()))
		return
	}
	fmt.Fprintln(v.text, line)
}

// End removes the live line.
func (v *View) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

func (v *View) clear() {
	if v.live {
		fmt.Fprint(v.out, "\r\x1b[K")
	}
}

func (v *View) width() int {
	w, _, err := term.GetSize(int(v.out.Fd()))
	if err != nil || w < 20 {
		return 80
	}
	return w - 1
}

// Elapsed is the time since New, as minutes and seconds.
func (v *View) Elapsed() string {
	d := time.Since(v.began).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// describe names a step; the noun is for what its load has open.
func describe(s record.RunSpec, noun string) string {
	words := []string{s.Variant, s.Role}
	if s.Round > 0 {
		words = append(words, fmt.Sprintf("round %d", s.Round))
	}
	switch {
	case s.RampTo > 0:
		words = append(words, fmt.Sprintf("from %.0f/s to %.0f/s", s.Rate, s.RampTo))
	case s.Rate > 0:
		words = append(words, fmt.Sprintf("at %.0f/s", s.Rate))
	}
	if s.Connections > 0 && s.Closed {
		words = append(words, fmt.Sprintf("concurrency %d", s.Connections))
	} else if s.Connections > 0 {
		words = append(words, fmt.Sprintf("%d %s", s.Connections, noun))
	}
	return strings.Join(words, " ")
}

func ms(n float64) string {
	switch {
	case n >= 1000:
		return fmt.Sprintf("%.2f s", n/1000)
	case n >= 10:
		return fmt.Sprintf("%.0f ms", n)
	}
	return fmt.Sprintf("%.2f ms", n)
}

func clip(s string, width int) string {
	r := []rune(screen.Line(s))
	return string(r[:min(len(r), width)])
}
