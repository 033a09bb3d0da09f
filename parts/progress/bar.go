package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// State is the progress of a job.
type State struct {
	Done, Total int64  // units; Total 0 means unknown
	Note        string // short remark beside the progress: what the job waits for, what limits it
}

const (
	// On a terminal, often enough to look alive; elsewhere (a CI log, a file) rarely enough that a job
	// of an hour is 360 lines.
	redrawEvery = 250 * time.Millisecond
	logEvery    = 10 * time.Second
	minimum     = time.Second // minimum time over which a rate is taken

	barWidth   = 20
	besideText = barWidth + 12 // columns: the bar, its brackets, the percentage and the spaces
)

// Bar shows the progress of a job: a bar on a terminal, a line every 10 s elsewhere.
type Bar struct {
	out     io.Writer
	units   string
	poll    func() State
	rate    rate
	bar     *progressbar.ProgressBar // nil means lines
	columns func() int               // of the terminal
	begin   int64                    // Done at the start
	shown   bool                     // output was printed
	end     sync.Once
	quit    chan struct{}
	ended   chan struct{}
}

// Show starts to show a job's progress on out, usually stderr. units is what is counted, as in
// "ledgers"; poll is called from one goroutine. On a terminal it draws with colour, unless NO_COLOR
// is set.
func Show(out io.Writer, units string, poll func() State) *Bar {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return show(out, units, poll, nil, false)
	}
	return show(out, units, poll, func() int {
		columns, _, err := term.GetSize(int(file.Fd()))
		return width(columns, err)
	}, os.Getenv("NO_COLOR") == "")
}

// width is 80 where it is unknown: a terminal without a size, as in a container, reports 0.
func width(columns int, err error) int {
	if err != nil || columns < 1 {
		return 80
	}
	return columns
}

// show draws on a terminal of a width in columns, or writes lines if columns is nil.
func show(out io.Writer, units string, poll func() State, columns func() int, colour bool) *Bar {
	b := &Bar{out: out, units: units, poll: poll, columns: columns, quit: make(chan struct{}), ended: make(chan struct{})}
	every := logEvery
	if columns != nil {
		every = redrawEvery
		b.bar = draw(out, colour)
	}
	b.begin = poll().Done
	b.rate.add(time.Now(), b.begin)
	go b.run(every)
	return b
}

// draw creates the bar. Its text comes from this package, so that a terminal and a log show the
// same.
func draw(out io.Writer, colour bool) *progressbar.ProgressBar {
	theme := progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}
	if colour {
		theme.Saucer, theme.SaucerHead = "[green]=[reset]", "[green]>[reset]"
	}
	return progressbar.NewOptions64(1, progressbar.OptionSetWriter(out), progressbar.OptionEnableColorCodes(colour),
		progressbar.OptionSetTheme(theme), progressbar.OptionSetWidth(barWidth), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionShowDescriptionAtLineEnd())
}

func (b *Bar) run(every time.Duration) {
	defer close(b.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-b.quit:
			if !b.shown && b.poll().Done == b.begin {
				return // it never began: its error should stand alone
			}
			b.print()
			if b.bar != nil {
				io.WriteString(b.out, "\n") // further output starts on a new line
			}
			return
		case <-tick.C:
			b.print()
		}
	}
}

// Close shows the final progress. If the job failed or had no work before any output, it prints
// nothing.
func (b *Bar) Close() {
	b.end.Do(func() { close(b.quit) })
	<-b.ended
}

// print ignores errors: out may be closed.
func (b *Bar) print() {
	b.shown = true
	s := b.poll()
	b.rate.add(time.Now(), s.Done)
	text := b.describe(s)
	if b.bar == nil {
		fmt.Fprintln(b.out, text)
		return
	}
	total := max(s.Total, 1)
	if b.bar.GetMax64() != total {
		b.bar.ChangeMax64(total)
	}
	b.bar.Set64(min(s.Done, total))
	b.bar.Describe(clip(text, b.columns()-besideText)) // a wrapped line could not be overwritten
}

// describe returns the progress, the rate and the time left.
func (b *Bar) describe(s State) string {
	var parts []string
	if s.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d %s (%.1f%%)", s.Done, s.Total, b.units, 100*float64(s.Done)/float64(s.Total)))
	} else {
		parts = append(parts, fmt.Sprintf("%d %s", s.Done, b.units))
	}
	if perSecond, ok := b.rate.perSecond(); ok {
		parts = append(parts, perSecondText(perSecond))
		if left := s.Total - s.Done; left > 0 && perSecond > 0 {
			if eta := float64(left) / perSecond; eta < (1000 * time.Hour).Seconds() {
				parts = append(parts, "ETA "+time.Duration(eta*float64(time.Second)).Round(time.Second).String())
			}
		}
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, ", ")
}

// perSecondText keeps three digits, so that a slow job does not show 0/s.
func perSecondText(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64) + "/s"
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + "/s"
}

// rate is the recent growth of a count. The count may begin anywhere: a resumed job has done some
// units before.
type rate struct {
	at    [61]time.Time // the last minute at one reading a second
	count [61]int64
	n     int // readings so far; the oldest are overwritten
}

func (r *rate) add(now time.Time, count int64) {
	if r.n > 0 && now.Sub(r.at[(r.n-1)%len(r.at)]) < minimum {
		return
	}
	r.at[r.n%len(r.at)], r.count[r.n%len(r.at)] = now, count
	r.n++
}

// perSecond is the rate over the stored readings; false: too few.
func (r *rate) perSecond() (float64, bool) {
	if r.n < 2 {
		return 0, false
	}
	newest, oldest := (r.n-1)%len(r.at), max(0, r.n-len(r.at))%len(r.at)
	return max(0, float64(r.count[newest]-r.count[oldest])/r.at[newest].Sub(r.at[oldest]).Seconds()), true
}

func clip(text string, columns int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), max(columns, 0))])
}
