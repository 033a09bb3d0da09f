package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// label marks the goroutines of a run: a goroutine has the labels of the one that started it, so
// that those of many programs in one process can be distinguished, also from those of the servers
// that they talk to.
const label = "servicetest"

var runs atomic.Int64

// exitLeft is the exit code of a program that left goroutines behind, which no program
// uses on its own.
const exitLeft = 97

// Tidy is a program that, when it has ended, looks for goroutines that are left of it, even such as
// end with a server's connection, as the test's end would have it. If there are any it says so and
// exits with a code that no test expects. That costs some 10 ms a run.
func Tidy(program Func) Func {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
		run := strconv.FormatInt(runs.Add(1), 10)
		pprof.Do(ctx, pprof.Labels(label, run), func(ctx context.Context) { code = program(ctx, args, stdout, stderr) })
		left := leftOf(run)
		for looks := 1; left != "" && looks < lastLooks; looks++ {
			time.Sleep(lookEvery)
			left = leftOf(run)
		}
		if left != "" {
			fmt.Fprintf(stderr, "it has ended with %d, and left goroutines behind:\n%s", code, left)
			return exitLeft
		}
		return code
	}
}

// The looks are for goroutines of idle connections, which the standard library closes without
// waiting for them. They are counted, because a process that gets no CPU does not look either;
// together they are shorter than a connection takes to notice that its peer is gone.
const (
	lookEvery = 10 * time.Millisecond
	lastLooks = 400
)

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
