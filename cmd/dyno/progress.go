package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"

	"golang.org/x/term"
)

// progress shows an experiment while it runs: one line that is rewritten on a terminal, a line
// per run elsewhere.
type progress struct {
	mu      sync.Mutex
	out     *os.File
	live    bool
	began   time.Time
	n       int
	total   int
	step    record.Step
	drawn   time.Time
	windows int
}

func newProgress(out *os.File) *progress {
	return &progress{out: out, live: term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb", began: time.Now()}
}

// redraw is the interval between changes of the live line: short enough to look alive, long
// enough to cost nothing.
const redraw = 200 * time.Millisecond

func (p *progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.out, text)
}

func (p *progress) Step(n, total int, s record.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.total, p.step, p.windows = n, total, s, 0
}

func (p *progress) Window(w record.Window) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windows++
	if !p.live || time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	c := w.Client
	line := fmt.Sprintf("%s  run %d of ~%d  %s  %s  sent %d/s  p99 %s", p.elapsed(), p.n, p.total, describe(p.step), w.Phase,
		c.Sent*int64(time.Second/record.WindowLength), ms(c.P99Ms))
	if c.DeliveryP99Ms > 0 {
		line += "  delivered p99 " + ms(c.DeliveryP99Ms)
	}
	p.clear()
	fmt.Fprint(p.out, clip(line, p.width()))
}

func (p *progress) Done(r *record.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	t := r.Totals
	fmt.Fprintf(p.out, "%s  run %d of ~%d  %-34s %8.0f/s done", p.elapsed(), p.n, p.total, describe(r.Step), t.AchievedPerS)
	if r.Step.Role != record.RoleProfile { // its latency does not count
		fmt.Fprint(p.out, ", p99 ", ms(t.Response.P99))
	}
	if t.Delivered > 0 && r.Step.Role != record.RoleProfile {
		fmt.Fprintf(p.out, ", delivered p99 %s", ms(t.Delivery.P99))
	}
	if r.Invalid != "" {
		fmt.Fprint(p.out, "  does not count")
	}
	fmt.Fprintln(p.out)
}

// Slice reports a turn: on a terminal as the live line, elsewhere one line for every block.
func (p *progress) Slice(s record.Slice, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live && s.Block == p.n {
		return
	}
	p.n = s.Block
	if p.live && time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	what := fmt.Sprintf("worked at %.0f/s", s.PerS())
	switch {
	case s.Invalid != "":
		what = s.Invalid
	case s.Kind == record.SliceSLO && capacity.NoVote(&s) != "":
		what = fmt.Sprintf("not judged at %.0f/s: %s", s.Rate, capacity.NoVote(&s))
	case s.Kind == record.SliceSLO && s.Met:
		what = fmt.Sprintf("met the SLO at %.0f/s, p99 %s", s.Rate, ms(s.Latency.P99))
	case s.Kind == record.SliceSLO:
		what = fmt.Sprintf("missed the SLO at %.0f/s, p99 %s", s.Rate, ms(s.Latency.P99))
	}
	line := fmt.Sprintf("%s  block %d  %s %s", p.elapsed(), s.Block, s.Variant, what)
	if left > 0 {
		line += fmt.Sprintf("  at most %s of turns left", left.Round(time.Second))
	}
	p.clear()
	if p.live {
		fmt.Fprint(p.out, clip(line, p.width()))
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) width() int {
	w, _, err := term.GetSize(int(p.out.Fd()))
	if err != nil || w < 20 {
		return 80
	}
	return w - 1
}

func (p *progress) elapsed() string {
	d := time.Since(p.began).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// describe names a step in a few words.
func describe(s record.Step) string {
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
	if s.Connections > 0 {
		words = append(words, fmt.Sprintf("concurrency %d", s.Connections))
	}
	return strings.Join(words, " ")
}

func ms(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.2f s", v/1000)
	case v >= 10:
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}

func clip(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width])
	}
	return s
}
