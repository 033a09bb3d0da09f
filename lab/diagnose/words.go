package diagnose

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// inWords is the verdict as text.
func (e *evidence) inWords(s Subject, d Diagnosis) string {
	sig := e.signals
	at := fmt.Sprintf("at %s/s", count(sig[Throughput]))
	if c := sig[Clients]; c >= 2 {
		at = fmt.Sprintf("at %s requests in flight and %s/s", count(c), count(sig[Throughput]))
	} else if c >= 1 {
		at = fmt.Sprintf("at one request at a time and %s/s", count(sig[Throughput]))
	}
	used := fmt.Sprintf("it used %s of the %s cores available to it", digits(sig[Cores]), digits(e.cores))
	if _, seen := sig[Utilisation]; !seen {
		used = "(its CPU use was not measured)"
	}
	place := ""
	if len(d.Where) > 0 {
		p := d.Where[0]
		place = fmt.Sprintf("%s (%s)", p.Function, location(p))
	}
	switch d.Bound {
	case Generator:
		if sig[GeneratorBusy] < Defaults.value(generatorBusy) && sig[OnClient] >= Defaults.value(unready) {
			return fmt.Sprintf("The load generator is the limit, not the service: %s the service waits for the generator %s of the requests' time, to send requests or to read responses.", at, percent(sig[OnClient])) +
				generatorHint(sig)
		}
		return fmt.Sprintf("The load generator is the limit, not the service: %s its busiest thread used %s of a core.", at, percent(sig[GeneratorBusy])) +
			generatorHint(sig)
	case Environment:
		return fmt.Sprintf("Other programs may be the limit: they took %s of the CPUs, and %s of the service's threads queued for one at any moment. ",
			percent(sig[Neighbours]), digits(sig[Delayed])) + e.unknownWords(at, used)
	case NotLoaded:
		return e.notLoaded(at)
	case CPU:
		text := fmt.Sprintf("The CPU bounds it: %s %s.", at, used)
		if place != "" {
			text += fmt.Sprintf(" %s of its CPU time is spent in %s%s.", percent(d.Where[0].Share), place, andBelow(d.Where[0]))
		}
		return text
	case GC:
		text := fmt.Sprintf("Allocating and collecting garbage bounds it: %s %s, and %s of that CPU time was garbage collection and allocation (%s was collection).",
			at, used, percent(sig[Allocating]), percent(max(sig[Collecting], sig[GCShare])))
		if place != "" {
			text += fmt.Sprintf(" %s of the bytes are allocated in %s.", percent(d.Where[0].Share), place)
		}
		return text
	case Syscall:
		text := fmt.Sprintf("System calls bound it: %s %s, and %s of that CPU time was spent in the kernel.", at, used, percent(max(sig[Kernel], sig[System])))
		if place != "" {
			text += fmt.Sprintf(" %s of its CPU time is spent in system calls of %s.", percent(d.Where[0].Share), place)
		}
		return text
	case Lock:
		return e.lockWords(d.Kind, at, used, place)
	case Wait:
		return e.waitWords(d.Kind, at, used, place)
	}
	if d.Kind == refused {
		return fmt.Sprintf("The service returns errors instead of more throughput: %s of the responses %s failed, so its capacity was not reached.", percent(sig[Failing]), at)
	}
	return e.unknownWords(at, used)
}

// unknownWords describe a service whose bottleneck is unknown.
func (e *evidence) unknownWords(at, used string) string {
	text := e.unseenCause(at, used)
	if text == "" {
		text = fmt.Sprintf("The bottleneck is unknown: %s %s, and no cause reached its threshold.", at, used)
	}
	if e.foreign != "" {
		text += " T" + e.foreign[1:] + "." // as a sentence of its own
	}
	return text
}

// unseenCause is the reason why a service that uses up its CPU is not called bound by it; empty if
// it does not.
func (e *evidence) unseenCause(at, used string) string {
	sig := e.signals
	if sig[Utilisation] < Defaults.value(busyCPU) {
		return ""
	}
	text := fmt.Sprintf("It uses all the CPU available to it (%s %s), but ", at, used)
	_, profiled := sig[Allocating]
	_, traced := sig[WaitTop]
	switch {
	case !profiled:
		text += "what it uses the CPU for was not measured: its own computing, garbage collection or a lock."
	case !traced:
		text += "whether its requests also wait for another resource was not measured."
	default:
		return ""
	}
	if p, seen := sig[Serial]; seen && p < oneAtATime && e.cores > oneAtATime {
		text += fmt.Sprintf(" Requests are served one at a time (%s): a lock, or one goroutine that does the work, is a likelier cause than too little CPU.", digits(p))
	}
	return text
}

func generatorHint(sig Signals) string {
	if sig[GeneratorBusy] > 0 && sig[Utilisation] > 0 {
		return fmt.Sprintf(" The service was at %s of the CPU available to it.", percent(sig[Utilisation]))
	}
	return ""
}

func (e *evidence) notLoaded(at string) string {
	sig := e.signals
	if sig[Capped] == 1 && sig[Clients] < 2 && sig[Occupied] >= Defaults.value(occupiedLeast) {
		return fmt.Sprintf("It is not loaded: %s the load reached its configured limit, and the service used %s of the CPU available to it. More clients were not tried because of that limit.",
			at, percent(sig[Utilisation]))
	}
	if sig[Capped] == 1 && sig[Growth] > 0 {
		return fmt.Sprintf("It is not loaded: %s the load reached its configured limit, and the throughput still rose by %s per doubling of the clients; the service used %s of the CPU available to it.",
			at, percent(sig[Growth]), percent(sig[Utilisation]))
	}
	return fmt.Sprintf("It is not loaded: %s its clients waited for responses only %s of their time, and it used %s of the CPU available to it.",
		at, percent(sig[Occupied]), percent(sig[Utilisation]))
}

func (e *evidence) lockWords(kind, at, used, place string) string {
	sig := e.signals
	if kind == spun {
		text := fmt.Sprintf("A lock bounds it: %s %s, and %s of that CPU time was spent acquiring and releasing locks.", at, used, percent(sig[LockSpin]))
		if place != "" {
			text += " Most of that is in " + place + "."
		}
		return text
	}
	const working = 0.7 // cores: above it, the holder of the lock computes
	inside := "its holder waits too: the CPU is mostly idle"
	if sig[Cores] > working {
		inside = "its holder does the work"
	}
	text := fmt.Sprintf("A lock bounds it: %s %s of the requests wait for a mutex at any moment, and %s (%s).", at, percent(sig[LockWait]), inside, used)
	switch {
	case e.holder != nil && e.holder.Costs != nil:
		text += " It is held by " + e.holder.Function + e.holder.Doing() + "."
	case e.holder != nil:
		text += " It is held by " + place + "."
	case place != "":
		text += " It is acquired in " + place + "."
	}
	return text
}

// kinds describes each kind of wait.
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
	begin := "Waiting bounds it, not computing"
	if sig[SerialBusy] >= Defaults.value(serialBusy) {
		begin = "Waiting for one goroutine bounds it"
	}
	text := fmt.Sprintf("%s: %s %s of the requests' time is spent waiting %s (%s).", begin, at, percent(sig[WaitTop]), kinds[kind], used)
	if n := sig[Workers]; n > 0 && sig[WorkersWait] > sig[WaitTop] {
		text = fmt.Sprintf("Waiting bounds it, not computing: at %s/s the %s goroutines that do the work spend %s of their time waiting %s (%s).",
			count(sig[Throughput]), count(n), percent(sig[WorkersWait]), kinds[kind], used)
	}
	if place != "" {
		text += " They wait in " + place + "."
	}
	if held := sig[RunnableWait]; held > sig[WaitTop]/2 {
		text += fmt.Sprintf(" In %s of that time goroutines are runnable, but others keep the processors (GOMAXPROCS) in the call, so GOMAXPROCS above the number of cores may help.", percent(ratio(held, sig[WaitTop])))
	}
	if busy := sig[SerialBusy]; busy >= Defaults.value(serialBusy) {
		text += fmt.Sprintf(" %s ends these waits and is busy %s of the time: it is the serial part.%s", e.oneGoroutine(), percent(busy), e.doing())
	}
	if sig[Growth] >= Defaults.value(growthPerDoubling) {
		text += fmt.Sprintf(" More clients still raise the throughput (by %s per doubling): no resource is used up, each request only takes long.", percent(sig[Growth]))
	}
	return text
}

// oneAtATime is the highest Serial of a service that serves requests one at a time; the response
// time of a single client includes its time on the network.
const oneAtATime = 1.35

// serialWords describe the peak throughput times the response time of a single client.
func (e *evidence) serialWords(v float64) string {
	switch {
	case v >= oneAtATime:
		return "requests served concurrently: the peak throughput times the response time of a single client (about the number of cores: computing; much more: waiting)"
	case e.cores < oneAtATime:
		return "requests are served one at a time with one core available to the service (equal to the number of cores: computing)"
	}
	return "requests are served one at a time (about the number of cores would be computing, much more would be waiting)"
}

// oneGoroutine names the goroutine that requests wait for by its first function.
func (e *evidence) oneGoroutine() string {
	if f, ok := stacks.Entry(e.waker); ok {
		return "One goroutine, " + f.Function + ","
	}
	return "One goroutine"
}

// doing names the code in which the one goroutine spends its CPU time.
func (e *evidence) doing() string {
	entry, ok := stacks.Entry(e.waker)
	if !ok || e.cpu == nil {
		return ""
	}
	var of []record.Stack
	whole := 0.0
	for _, s := range e.cpu.Stacks {
		if slices.ContainsFunc(s.Frames, func(f record.Frame) bool { return f.Function == entry.Function }) {
			of = append(of, s)
			whole += s.Value
		}
	}
	if p, ok := findings.Half(of, whole); ok && p.Function != entry.Function {
		return fmt.Sprintf(" %s of its CPU time is spent in %s (%s).", percent(p.Share), p.Function, location(p))
	}
	return ""
}

// meanings describe the signals, in the order in which they are printed.
var meanings = []struct {
	signal, unit string
	means        func(v float64, t Thresholds) string
}{
	{Throughput, "1/s", fixed("throughput of the diagnosed run")},
	{Clients, "requests", fixed("requests in flight during the diagnosed run")},
	{Utilisation, "share", func(v float64, t Thresholds) string {
		return versus(v, t.value(busyCPU), "the CPU available to it is used up", "there is CPU left")
	}},
	{Failing, "share", fixed("share of responses that were errors or failed a check")},
	{Growth, "per doubling", func(v float64, t Thresholds) string {
		return versus(v, t.value(growthPerDoubling), "more clients still raise the throughput", "more clients do not raise the throughput any more")
	}},
	{Serial, "requests at a time", nil}, // serialWords
	{Occupied, "share", func(v float64, t Thresholds) string {
		return versus(v, t.value(occupiedLeast), "the clients always wait for an answer", "the clients do not always wait, so they do not saturate it")
	}},
	{GeneratorBusy, "share", func(v float64, t Thresholds) string {
		return versus(v, t.value(generatorBusy), "the generator's busiest thread is the limit", "the generator had spare capacity")
	}},
	{Neighbours, "share", func(v float64, t Thresholds) string {
		return versus(v, t.value(neighbours), "other programs took its CPU", "other programs left it enough CPU")
	}},
	{LockWait, "share", func(v float64, t Thresholds) string {
		return versus(v, t.value(lockWaiting), "at any moment most requests wait for a mutex", "few requests wait for a mutex")
	}},
	{LockSpin, "share", fixed("CPU time spent acquiring and releasing locks")},
	{Allocating, "share", fixed("CPU time spent on garbage collection and allocation")},
	{Collecting, "share", fixed("CPU time spent on garbage collection alone, by the CPU profile")},
	{GCShare, "share", fixed("CPU time spent on garbage collection alone, by the runtime's figures")},
	{Kernel, "share", fixed("CPU time spent in system calls, by the CPU profile")},
	{System, "share", fixed("CPU time spent in the kernel, by the kernel's figures")},
	{Running, "share", fixed("processor time (GOMAXPROCS) in which goroutines ran, by the execution trace")},
	{Waiting, "share", fixed("requests' time spent waiting, locks included")},
	{WaitTop, "share", fixed("requests' time spent in the kind of wait that took most")},
	{OnClient, "share", fixed("requests' time spent waiting for the client to send or to read")},
	{RunnableWait, "share", fixed("requests' time spent runnable while others keep the processors (GOMAXPROCS) in a system call")},
	{Workers, "goroutines", fixed("goroutines that do the work after the response")},
	{WorkersWait, "share", fixed("worker goroutines' time spent in the kind of wait that took most")},
	{SerialBusy, "share", fixed("time in which the one goroutine that the requests wait for was busy")},
	{AcceptQueue, "share", fixed("highest share of the clients in the accept queue")},
	{AcceptFill, "share", fixed("highest fill of the accept queue")},
	{AcceptFull, "per request", fixed("connections dropped by a full accept queue")},
}

func fixed(text string) func(float64, Thresholds) string {
	return func(float64, Thresholds) string { return text }
}

func versus(v, bar float64, atOrAbove, under string) string {
	if v >= bar {
		return fmt.Sprintf("%s (%s or more)", atOrAbove, digits(bar))
	}
	return fmt.Sprintf("%s (less than %s)", under, digits(bar))
}

// explain lists the signals that were measured with their meanings.
func (e *evidence) explain(t Thresholds) []Evidence {
	out := []Evidence{}
	for _, m := range meanings {
		if v, seen := e.signals[m.signal]; seen {
			means := e.serialWords(v)
			if m.means != nil {
				means = m.means(v, t)
			}
			out = append(out, Evidence{Signal: m.signal, Value: round(v), Unit: m.unit, Means: means})
		}
	}
	return out
}

// andBelow marks a place whose share includes its callees.
func andBelow(p Place) string {
	if p.Cumulative {
		return " and what it calls"
	}
	return ""
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

// count formats a figure with at most three significant digits and thousands separators.
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

// lower returns text without its initial capital, for use within a sentence.
func lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + strings.TrimPrefix(text, string(first))
}
