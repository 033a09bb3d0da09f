package diagnose

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyno/lab/diagnose/stacks"
)

// inWords is the verdict as one would say it.
func (e *evidence) inWords(s Subject, d Diagnosis) string {
	sig := e.signals
	at := fmt.Sprintf("at %s/s", count(sig[Throughput]))
	if c := sig[Clients]; c >= 2 {
		at = fmt.Sprintf("at %s requests in flight and %s/s", count(c), count(sig[Throughput]))
	} else if c >= 1 {
		at = fmt.Sprintf("at one request at a time and %s/s", count(sig[Throughput]))
	}
	used := fmt.Sprintf("it uses %s of the %s cores it could have had", digits(sig[Cores]), digits(e.cores))
	if _, seen := sig[Utilisation]; !seen {
		used = "(what it uses of the CPU was not seen)"
	}
	place := ""
	if len(d.Where) > 0 {
		p := d.Where[0]
		place = fmt.Sprintf("%s (%s)", p.Function, location(p))
	}
	switch d.Bound {
	case Generator:
		return fmt.Sprintf("The load generator is the limit, not the service: %s its busiest thread used %s of a core.", at, percent(sig[GeneratorBusy])) +
			generatorHint(sig)
	case Environment:
		return fmt.Sprintf("Other processes are the limit: they took %s of the machine while the service waited %s s per second for a CPU.",
			percent(sig[Neighbours]), digits(sig[Delayed]))
	case NotLoaded:
		return e.notLoaded(at)
	case CPU:
		text := fmt.Sprintf("The CPU bounds it: %s %s.", at, used)
		if place != "" {
			text += fmt.Sprintf(" %s of its CPU time is spent in %s.", percent(d.Where[0].Share), place)
		}
		return text
	case GC:
		text := fmt.Sprintf("Allocating and collecting garbage bounds it: %s %s, and %s of that goes into garbage collection and allocation (%s into collection).",
			at, used, percent(sig[Allocating]), percent(max(sig[Collecting], sig[GCShare])))
		if place != "" {
			text += fmt.Sprintf(" %s of the bytes are allocated in %s.", percent(d.Where[0].Share), place)
		}
		return text
	case Syscall:
		text := fmt.Sprintf("System calls bound it: %s %s, and %s of that is spent in the kernel.", at, used, percent(max(sig[Kernel], sig[System])))
		if place != "" {
			text += fmt.Sprintf(" %s of its CPU time is spent in those of %s.", percent(d.Where[0].Share), place)
		}
		return text
	case Lock:
		return e.lockWords(d.Kind, at, used, place)
	case Wait:
		return e.waitWords(d.Kind, at, used, place)
	}
	if d.Kind == refused {
		return fmt.Sprintf("It answers errors instead of more: %s of what ended %s was no good answer, so what it could carry was not reached.", percent(sig[Failing]), at)
	}
	if _, profiled := sig[Allocating]; !profiled && sig[Utilisation] >= Defaults.value(busyCPU) {
		return fmt.Sprintf("It uses all the CPU it can have (%s %s), but what for cannot be seen: its own computing, garbage collection or a lock.", at, used)
	}
	return fmt.Sprintf("What bounds it is not known: %s %s, and no cause passed its bar.", at, used)
}

func generatorHint(sig Signals) string {
	if sig[GeneratorBusy] > 0 && sig[Utilisation] > 0 {
		return fmt.Sprintf(" The service was at %s of the CPU it could have had.", percent(sig[Utilisation]))
	}
	return ""
}

func (e *evidence) notLoaded(at string) string {
	sig := e.signals
	if sig[Capped] == 1 && sig[Clients] < 2 && sig[Occupied] >= Defaults.value(occupiedLeast) {
		return fmt.Sprintf("It is not loaded: %s the load may go no further, and the service used %s of the CPU it could have had. What more clients would show was not to be tried.",
			at, percent(sig[Utilisation]))
	}
	if sig[Capped] == 1 && sig[Growth] > 0 {
		return fmt.Sprintf("It is not loaded: %s the load may go no further, and the throughput still rose by %s per doubling of the clients; it used %s of the CPU it could have had.",
			at, percent(sig[Growth]), percent(sig[Utilisation]))
	}
	return fmt.Sprintf("It is not loaded: %s its clients waited for answers only %s of their time, and it used %s of the CPU it could have had.",
		at, percent(sig[Occupied]), percent(sig[Utilisation]))
}

func (e *evidence) lockWords(kind, at, used, place string) string {
	sig := e.signals
	if kind == spun {
		text := fmt.Sprintf("A lock bounds it: %s %s, and %s of that goes into taking and giving back locks.", at, used, percent(sig[LockSpin]))
		if place != "" {
			text += " Most of it in " + place + "."
		}
		return text
	}
	const working = 0.7 // cores: with more, whoever holds the lock computes
	inside := "what it guards waits for something itself: the CPU is mostly idle"
	if sig[Cores] > working {
		inside = "the work is done inside it"
	}
	text := fmt.Sprintf("A lock bounds it: %s %s of them wait for a mutex at any moment, and %s (%s).", at, percent(sig[LockWait]), inside, used)
	if place != "" {
		text += " It is taken in " + place + "."
	}
	return text
}

// kinds says a kind of wait in words.
var kinds = map[string]string{
	string(stacks.WaitPool):    "for a free connection of a pool",
	string(stacks.WaitNetwork): "for an answer from downstream",
	string(stacks.WaitDisk):    "for a file",
	string(stacks.WaitSyscall): "in a system call",
	string(stacks.WaitChannel): "on a channel",
	string(stacks.WaitSelect):  "in a select",
	string(stacks.WaitCond):    "on a condition variable",
	string(stacks.WaitGroup):   "for goroutines that they started",
	string(stacks.WaitTimer):   "for time to pass",
}

func (e *evidence) waitWords(kind, at, used, place string) string {
	sig := e.signals
	if kind == accepted {
		return fmt.Sprintf("Accepting connections bounds it: %s %s connections wait in the accept queue and %s/s found it full, while %s.",
			at, count(sig[AcceptQueue]*sig[Clients]), count(sig[AcceptFull]*sig[Throughput]), used)
	}
	text := fmt.Sprintf("Waiting bounds it, not computing: %s %s of the requests' time passes %s (%s).", at, percent(sig[WaitTop]), kinds[kind], used)
	if n := sig[Workers]; n > 0 && sig[WorkersWait] > sig[WaitTop] {
		text = fmt.Sprintf("Waiting bounds it, not computing: at %s/s the %s goroutines that do the work spend %s of their time waiting %s (%s).",
			count(sig[Throughput]), count(n), percent(sig[WorkersWait]), kinds[kind], used)
	}
	if place != "" {
		text += " They wait in " + place + "."
	}
	if held := sig[HeldBack]; held > sig[WaitTop]/2 {
		text += fmt.Sprintf(" %s of it is not even spent in the call: goroutines are ready, but others keep the processors in it, so GOMAXPROCS above the number of cores may help.", percent(ratio(held, sig[WaitTop])))
	}
	if busy := sig[SerialBusy]; busy >= Defaults.value(serial) {
		text += fmt.Sprintf(" One goroutine ends these waits, and it is busy %s of the time: it is the serial part.", percent(busy))
	}
	if sig[Growth] >= Defaults.value(growing) {
		text += fmt.Sprintf(" More clients still raise the throughput (by %s per doubling): nothing is used up, each request only takes long.", percent(sig[Growth]))
	}
	return text
}

// meaning says what a signal shows, in the order in which they are told.
var meanings = []struct {
	signal, unit string
	means        func(v float64, t Thresholds) string
}{
	{Throughput, "1/s", fixed("throughput where it was looked into")},
	{Clients, "requests", fixed("in flight meanwhile")},
	{Utilisation, "share", func(v float64, t Thresholds) string {
		return than(v, t.value(busyCPU), "the CPU it could have had is used up", "there is CPU left")
	}},
	{Failing, "share", fixed("of what ended: errors, and answers that failed a check")},
	{Growth, "per doubling", func(v float64, t Thresholds) string {
		return than(v, t.value(growing), "more clients still raise the throughput", "more clients do not raise the throughput any more")
	}},
	{Serial, "requests at a time", func(v float64, _ Thresholds) string {
		return "highest throughput times the response time of a single client: about 1 is one at a time, about the number of cores computing, much more waiting"
	}},
	{Occupied, "share", func(v float64, t Thresholds) string {
		return than(v, t.value(occupiedLeast), "the clients always wait for an answer", "the clients do not offer as much as they could")
	}},
	{GeneratorBusy, "share", func(v float64, t Thresholds) string {
		return than(v, t.value(generatorBusy), "the generator's busiest thread is the limit", "the generator had room")
	}},
	{Neighbours, "share", func(v float64, t Thresholds) string {
		return than(v, t.value(neighbours), "other processes got in the way", "other processes left the machine alone")
	}},
	{LockWait, "share", func(v float64, t Thresholds) string {
		return than(v, t.value(lockWaiting), "at any moment most requests wait for a mutex", "few requests wait for a mutex")
	}},
	{LockSpin, "share", fixed("of CPU time: taking and giving back locks")},
	{Allocating, "share", fixed("of CPU time: garbage collection and allocation")},
	{Collecting, "share", fixed("of CPU time: garbage collection alone, by the CPU profile")},
	{GCShare, "share", fixed("of CPU time: garbage collection alone, by the runtime's account")},
	{Kernel, "share", fixed("of CPU time: system calls, by the CPU profile")},
	{System, "share", fixed("of CPU time: in the kernel, by the kernel's account")},
	{Waiting, "share", fixed("of the requests' time: waits of any kind, locks included")},
	{WaitTop, "share", fixed("of the requests' time: the kind of wait that took most")},
	{HeldBack, "share", fixed("of the requests' time: ready to run, while others keep the processors (GOMAXPROCS) in a system call")},
	{Workers, "goroutines", fixed("do the work after a request was answered")},
	{WorkersWait, "share", fixed("of these goroutines' time: the kind of wait that took most")},
	{SerialBusy, "share", fixed("of the time: one goroutine was busy on which the requests wait")},
	{AcceptQueue, "share", fixed("of the clients: in the accept queue, at most")},
	{AcceptFill, "share", fixed("of the accept queue's room was taken, at most")},
	{AcceptFull, "per request", fixed("connections that found the accept queue full")},
}

func fixed(text string) func(float64, Thresholds) string {
	return func(float64, Thresholds) string { return text }
}

func than(v, bar float64, atOrAbove, under string) string {
	if v >= bar {
		return fmt.Sprintf("%s (%s or more)", atOrAbove, digits(bar))
	}
	return fmt.Sprintf("%s (less than %s)", under, digits(bar))
}

// explain lists the signals that were seen with what they mean.
func (e *evidence) explain(t Thresholds) []Evidence {
	out := []Evidence{}
	for _, m := range meanings {
		if v, seen := e.signals[m.signal]; seen {
			out = append(out, Evidence{Signal: m.signal, Value: round(v), Unit: m.unit, Means: m.means(v, t)})
		}
	}
	return out
}

func location(p Place) string {
	if p.File == "" {
		return "no file known"
	}
	return path.Base(p.File) + ":" + strconv.Itoa(p.Line)
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// round keeps four digits.
func round(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return out
}

func percent(v float64) string { return fmt.Sprintf("%.0f%%", v*100) }

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }

// count writes a figure with at most three significant digits and thousands parted.
func count(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(round(v), 'g', 2, 64)
	case v < 1000:
		return fmt.Sprintf("%.0f", v)
	}
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// lower begins a sentence's text without its capital, to go on with it.
func lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + strings.TrimPrefix(text, string(first))
}
