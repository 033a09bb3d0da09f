package ledgertest

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// label marks the goroutines of a run: a goroutine has the labels of the one that started it, so that those of many
// programs in one process can be told apart, and from those of the servers that they talk to.
const label = "ledgertest"

var runs atomic.Int64

// alone calls a function and holds that no goroutine is left of it when it has returned: not even one that ends with a
// server's connection, as the test's end would have it.
func alone(t testing.TB, do func()) {
	run := strconv.FormatInt(runs.Add(1), 10)
	pprof.Do(context.Background(), pprof.Labels(label, run), func(context.Context) { do() })
	limit := time.NewTimer(lastMoment)
	defer limit.Stop()
	for left := leftOf(run); left != ""; left = leftOf(run) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit.C:
			t.Errorf("the program has ended, and left goroutines behind:\n%s", left)
			return
		}
	}
}

// lastMoment is for goroutines that have been told to end, and that the standard library does not wait for: those of
// idle connections. It is less than a connection takes to find out by itself that nobody is there.
const lastMoment = 4 * time.Second

// shared are goroutines that the first who needs them starts for all.
var shared = []string{"os/signal.loop", "os/signal.signal_recv"}

// leftOf are the stacks of a run's goroutines, apart from the one that asks.
func leftOf(run string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var left strings.Builder
stacks:
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if !strings.Contains(stack, strconv.Quote(label)+":"+strconv.Quote(run)) {
			continue
		}
		for _, s := range shared {
			if strings.Contains(stack, s) {
				continue stacks
			}
		}
		left.WriteString(stack + "\n\n")
	}
	return left.String()
}
