package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
)

// statement is a verdict with what its text mentions.
type statement struct {
	Bottleneck  rules.Bottleneck
	Kind        string // of a wait or a lock
	Signals     rules.Signals
	Cores       float64 // available to it
	Sites       []stacks.Site
	Holder      *stacks.Holder // of the lock that bounds it; nil: not seen
	Taken       *stacks.Holder // of what requests take from the pool for which they wait; nil: not seen
	Serial      string         // first function of the one goroutine that requests wait for; empty: not seen
	Spends      *stacks.Site   // in which that goroutine spends its CPU time; nil: not seen
	Behind      []chainLink    // the goroutine for which requests wait, the one for which it waits, and so on
	MemoryLimit facts.MemoryLimit
	NonGo       string   // description of a process that Go did not build; empty: Go built it
	Spread      bool     // no function has much of the CPU time: the first site is a branch, or a small part
	Path        []string // functions through which that branch is reached, itself last
	One         string   // the thread that alone runs its code; empty: several do
	Refusals    string   // the most frequent failures with their counts, in brackets; empty: none
	Sheds       bool     // it refuses what it does not carry, as more clients show
	Peak        float64  // highest throughput without failures, per second
	CallsTo     string   // address of the process whose answers it waits for; empty: not seen
}

// Text is the verdict in one sentence or a few.
func (v statement) Text() string {
	sig, at, used := v.Signals, v.at(), v.used()
	switch v.Bottleneck {
	case rules.Generator:
		what := fmt.Sprintf("its busiest thread used %s of a core.", percent(sig[rules.GeneratorBusy]))
		if sig[rules.GeneratorBusy] < rules.Defaults.Value(rules.ThresholdGeneratorBusy) && sig[rules.OnClient] >= rules.Defaults.Value(rules.ThresholdOnClient) {
			what = fmt.Sprintf("the service waits for the generator %s of the requests' time, to send requests or to read responses.", percent(sig[rules.OnClient]))
		}
		return fmt.Sprintf("The load generator is the limit, not the service: %s %s", at, what) + generatorHint(sig)
	case rules.Environment:
		return fmt.Sprintf("Other programs may be the limit: they took %s of the CPUs, and %s of the service's threads queued for one at any moment. ",
			percent(sig[rules.Neighbours]), digits(sig[rules.Delayed])) + v.unknownText(at, used)
	case rules.NotLoaded:
		return v.notLoaded(at)
	case rules.CPU:
		begin := fmt.Sprintf("The CPU bounds it: %s %s.", at, used)
		if v.Kind == rules.Threaded {
			begin = v.threadText(at, used)
		}
		if where := v.spent(); where != "" {
			begin += " " + strings.ToUpper(where[:1]) + where[1:] + "."
		}
		return begin
	case rules.GC:
		return fmt.Sprintf("Allocating and collecting garbage bounds it: %s %s, and %s of that CPU time was garbage collection and allocation (%s was collection).",
			at, used, percent(sig[rules.Allocating]), percent(max(sig[rules.Collecting], sig[rules.GCShare]))) + v.limitText() + v.in(" %[1]s of the bytes are allocated in %[2]s.")
	case rules.Syscall:
		return fmt.Sprintf("System calls bound it: %s %s, and %s of that CPU time was spent in the kernel.", at, used, percent(max(sig[rules.Kernel], sig[rules.System]))) +
			v.in(" %[1]s of its CPU time is spent in system calls of %[2]s.")
	case rules.Lock:
		return v.lockText(at, used)
	case rules.Wait:
		return v.waitText(at, used)
	}
	if v.Kind == rules.Refused {
		failed := fmt.Sprintf("%s of the requests %s failed%s", nearly(sig[rules.Failing]), at, v.Refusals)
		if v.Sheds {
			return fmt.Sprintf("The service refuses what it does not carry: the %s/s that it serves are its capacity, and %s.", grouped(v.Peak), failed)
		}
		return "The service returns errors instead of more throughput: " + failed + ", so its capacity was not reached."
	}
	return v.unknownText(at, used)
}

// at is the load at which the verdict holds.
func (v statement) at() string {
	perSecond := grouped(v.Signals[rules.Throughput])
	switch c := v.Signals[rules.Clients]; {
	case c >= 2:
		return fmt.Sprintf("at %s requests in flight and %s/s", grouped(c), perSecond)
	case c >= 1:
		return fmt.Sprintf("at one request at a time and %s/s", perSecond)
	}
	return fmt.Sprintf("at %s/s", perSecond)
}

// used is the CPU that the service used.
func (v statement) used() string {
	use, seen := v.Signals[rules.Utilisation]
	if !seen {
		return "(its CPU use was not measured)"
	}
	return fmt.Sprintf("it used %s of the %s cores available to it (%s)", digits(v.Signals[rules.Cores]), digits(v.Cores), UseText(use))
}

// in formats the share [1] and the name [2] of the first place; empty if none is known.
func (v statement) in(format string) string {
	if len(v.Sites) == 0 {
		return ""
	}
	p := v.Sites[0]
	return fmt.Sprintf(format, percent(p.Share), fmt.Sprintf("%s (%s)", p.Function, p.Location()))
}

// limitText says that the memory limit is why the collector runs frequently; empty: it is not.
func (v statement) limitText() string {
	collects := "collects"
	switch {
	case v.MemoryLimit.Bytes == 0:
		return ""
	case v.MemoryLimit.Perhaps:
		collects = "may collect"
	}
	return fmt.Sprintf(" Its memory is near its limit (GOMEMLIMIT) of %s, so it %s more frequently than GOGC sets.", mebibytes(v.MemoryLimit.Bytes), collects)
}

func mebibytes(n int64) string { return grouped(float64(n)/(1<<20)) + " MiB" }

// spent says where the CPU time is spent, within a sentence; empty if no place is known.
func (v statement) spent() string {
	if len(v.Sites) == 0 {
		return ""
	}
	where := "%[2]s"
	if v.Sites[0].Cumulative {
		where += " and what it calls"
	}
	switch {
	case !v.Spread:
		return v.in("%[1]s of its CPU time is spent in " + where)
	case !v.Sites[0].Cumulative:
		return v.in("its CPU time is spread over many functions, the largest of which, " + where + ", takes %[1]s")
	}
	return v.in("%[1]s of its CPU time is spread over "+where) + pathText(v.Path)
}

// pathText names the path to a branch: its first function, and the last ones before the branch.
func pathText(path []string) string {
	const most = 4 // names
	if len(path) < 2 {
		return ""
	}
	if n := len(path); n > most {
		path = slices.Concat(path[:1], []string{"..."}, path[n-most+2:])
	}
	return ", on the path " + strings.Join(path, " > ")
}

// unknownText describes a service whose bottleneck is unknown.
func (v statement) unknownText(at, used string) string {
	text := v.unseenCause(at, used)
	if text == "" {
		text = fmt.Sprintf("The bottleneck is unknown: %s %s, and no cause reached its threshold.", at, used)
	}
	if v.NonGo != "" {
		text += " T" + v.NonGo[1:] + "." // NonGo begins with "the process is": here it begins a sentence
	}
	return text
}

// unseenCause states why the verdict is not CPU although the service uses all of the CPU, or waits
// for it more than it runs; empty if neither is the case.
func (v statement) unseenCause(at, used string) string {
	sig := v.Signals
	if v.NonGo != "" && sig[rules.Starved] >= rules.Defaults.Value(rules.ThresholdStarved) {
		return v.shortText(at, used)
	}
	if sig[rules.Utilisation] < rules.Defaults.Value(rules.ThresholdBusyCPU) {
		return ""
	}
	text := fmt.Sprintf("It uses all the CPU available to it (%s %s), but ", at, used)
	_, profiled := sig[rules.Allocating]
	_, traced := sig[rules.WaitTop]
	switch {
	case v.NonGo != "":
		text += "whether its requests also wait for another resource cannot be seen from outside."
	case !profiled:
		text += "what it uses the CPU for was not measured: its own computing, garbage collection or a lock."
	case !traced:
		text += "whether its requests also wait for another resource was not measured."
	default:
		return ""
	}
	if p, seen := sig[rules.Serial]; seen && p < rules.OneAtATime && v.Cores > rules.OneAtATime {
		text += fmt.Sprintf(" Requests are served one at a time (%s): a lock, or one goroutine that does the work, is a likelier cause than too little CPU.", digits(p))
	}
	return text
}

func generatorHint(sig rules.Signals) string {
	if sig[rules.GeneratorBusy] > 0 && sig[rules.Utilisation] > 0 {
		return fmt.Sprintf(" The service's CPU was %s.", UseText(sig[rules.Utilisation]))
	}
	return ""
}

func (v statement) notLoaded(at string) string {
	sig := v.Signals
	if sig[rules.Capped] == 1 && sig[rules.Clients] < 2 && sig[rules.Occupied] >= rules.Defaults.Value(rules.ThresholdOccupied) {
		return fmt.Sprintf("It is not loaded: %s the load reached its configured limit, and the service's CPU was %s. More clients were not tried because of that limit.",
			at, UseText(sig[rules.Utilisation]))
	}
	if sig[rules.Capped] == 1 && sig[rules.Growth] > 0 {
		return fmt.Sprintf("It is not loaded: %s the load reached its configured limit, and the throughput still rose by %s per doubling of the clients; the service's CPU was %s.",
			at, percent(sig[rules.Growth]), UseText(sig[rules.Utilisation]))
	}
	return fmt.Sprintf("It is not loaded: %s its clients waited for responses only %s of their time, and its CPU was %s.",
		at, percent(sig[rules.Occupied]), UseText(sig[rules.Utilisation]))
}

func (v statement) lockText(at, used string) string {
	sig := v.Signals
	if v.Kind == rules.Spun {
		return fmt.Sprintf("A lock bounds it: %s %s, and %s of that CPU time was spent acquiring and releasing locks.", at, used, percent(sig[rules.LockSpin])) +
			v.in(" Most of that is in %[2]s.")
	}
	const working = 0.7 // cores: above it, the holder of the lock computes
	inside := "its holder waits too: the CPU is mostly idle"
	if sig[rules.Cores] > working {
		inside = "its holder does the work"
	}
	text := fmt.Sprintf("A lock bounds it: %s %s of the requests wait for a mutex at any moment, and %s; %s.", at, percent(sig[rules.LockWait]), inside, used)
	switch {
	case v.Holder != nil && v.Holder.Costs != nil:
		return text + " It is held by " + v.Holder.Function + v.Holder.Doing() + "."
	case v.Holder != nil:
		return text + v.in(" It is held by %[2]s.")
	}
	return text + v.in(" It is acquired in %[2]s.")
}

func (v statement) waitText(at, used string) string {
	sig := v.Signals
	if v.Kind == rules.Accepted {
		return fmt.Sprintf("Accepting connections bounds it: %s %s connections wait in the accept queue and %s/s found it full, while %s.",
			at, grouped(sig[rules.AcceptQueue]*sig[rules.Clients]), grouped(sig[rules.AcceptFull]*sig[rules.Throughput]), used)
	}
	if v.NonGo != "" {
		return v.asleepText(at, used)
	}
	begin := "Waiting bounds it, not computing"
	if sig[rules.SerialBusy] >= rules.Defaults.Value(rules.ThresholdSerialBusy) {
		begin = "Waiting for one goroutine bounds it"
	}
	text := fmt.Sprintf("%s: %s %s of the requests' time is spent waiting %s; %s.", begin, at, percent(sig[rules.WaitTop]), stacks.WaitKind(v.Kind).Text(), used)
	if n := sig[rules.Workers]; n > 0 && sig[rules.WorkersWait] > sig[rules.WaitTop] {
		text = fmt.Sprintf("Waiting bounds it, not computing: at %s/s the %s goroutines that do the work spend %s of their time waiting %s; %s.",
			grouped(sig[rules.Throughput]), grouped(n), percent(sig[rules.WorkersWait]), stacks.WaitKind(v.Kind).Text(), used)
	}
	text += v.in(" They wait in %[2]s.") + v.takenText()
	if held, top := sig[rules.RunnableWait], sig[rules.WaitTop]; top > 0 && held > top/2 {
		text += fmt.Sprintf(" In %s of that time goroutines are runnable, but others keep the processors (GOMAXPROCS) in the call, so GOMAXPROCS above the number of cores may help.", percent(held/top))
	}
	if busy, one := sig[rules.SerialBusy], "One goroutine"; busy >= rules.Defaults.Value(rules.ThresholdSerialBusy) {
		if v.Serial != "" {
			one += ", " + v.Serial + ","
		}
		text += fmt.Sprintf(" %s ends these waits and is busy %s of the time: it is the serial part.", one, percent(busy))
		if p := v.Spends; p != nil {
			text += fmt.Sprintf(" %s of its CPU time is spent in %s (%s).", percent(p.Share), p.Function, p.Location())
		}
	}
	text += v.behindText()
	if sig[rules.Growth] >= rules.Defaults.Value(rules.ThresholdGrowth) {
		text += fmt.Sprintf(" More clients still raise the throughput (by %s per doubling): no resource is used up, each request only takes long.", percent(sig[rules.Growth]))
	}
	return text
}

// rounded keeps four digits.
func rounded(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return out
}

func percent(v float64) string { return fmt.Sprintf("%.0f%%", v*100) }

// digits keeps two digits.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }

// grouped formats a figure with at most three significant digits and thousands separators.
func grouped(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(rounded(v), 'g', 2, 64)
	case v < 1000:
		return fmt.Sprintf("%.0f", v)
	}
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// lowerFirst returns text without its initial capital, for use within a sentence. It keeps
// acronyms.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + strings.TrimPrefix(text, string(first))
}

// bottleneckText names what bounds a service, within a sentence.
func bottleneckText(bound rules.Bottleneck, kind string, sig rules.Signals) string {
	used := ""
	if u, seen := sig[rules.Utilisation]; seen {
		used = fmt.Sprintf(" (CPU %s)", UseText(u))
	}
	return causeText(bound, kind) + used
}

// causeText names what bounds a service, without figures.
func causeText(bound rules.Bottleneck, kind string) string {
	switch bound {
	case rules.CPU:
		if kind == rules.Threaded {
			return "one thread"
		}
		return "the CPU"
	case rules.GC:
		return "allocation and garbage collection"
	case rules.Lock:
		return "a lock"
	case rules.Syscall:
		return "system calls"
	case rules.Wait:
		what := "waiting"
		if text := stacks.WaitKind(kind).Text(); text != "" {
			what += " " + text
		}
		return what
	}
	return "an unknown bottleneck"
}
