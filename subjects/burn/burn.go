// Command burn burns a known amount of CPU per request and answers 128 bytes. Its capacity is
// known from arithmetic: cores / (work + the server's own cost), and with --factor 1.2 it is a
// server whose handler costs 1.2 times as much, which a comparison must find.
//
// The work is a chain of SHA-256 with the number of iterations that take --work of CPU on this
// machine when it is undisturbed. Processes started at different times would calibrate
// differently by a few per cent; to make two of them equal, start the first one, read
// "iterations" from its ready line, and pass that to the others with --iterations.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime"
	"time"

	"dyno/subjects/subject"
)

const (
	answerBytes = 128
	maxWork     = 10 * time.Second // for one request; catches a wrong unit
	maxFactor   = 1000
)

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("burn", flag.ContinueOnError)
	addresses.Declare(fs)
	work := fs.Duration("work", 100*time.Microsecond, "CPU time per request, before --factor")
	factor := fs.Float64("factor", 1, "multiplies the iterations")
	iterations := fs.Int("iterations", 0, "fixes the iterations before --factor; 0: calibrate --work")
	subject.Parse(fs, os.Args[1:])
	if err := check(*work, *factor, *iterations); err != nil {
		subject.Usage("burn", err)
	}
	base := *iterations
	if base == 0 {
		base = calibrate(*work)
	}
	subject.Main(addresses, subject.Subject{Name: "burn", Handler: burner(scale(base, *factor)),
		Ready: map[string]any{"iterations": base, "factor": *factor}})
}

func check(work time.Duration, factor float64, iterations int) error {
	switch {
	case work < 0 || work > maxWork:
		return fmt.Errorf("--work is %v; it must be 0 to %v", work, maxWork)
	case !(factor > 0 && factor <= maxFactor):
		return fmt.Errorf("--factor is %v; it must be above 0, at most %v", factor, maxFactor)
	case iterations < 0 || iterations > math.MaxInt32:
		return fmt.Errorf("--iterations is %d; it must be 0 (calibrate) to %d", iterations, math.MaxInt32)
	}
	return nil
}

// scale multiplies, to the nearest iteration.
func scale(iterations int, factor float64) int { return int(math.Round(float64(iterations) * factor)) }

// burner is the number of iterations of a request.
type burner int

func (b burner) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	digest := burn(int(b))
	var answer [answerBytes]byte
	copy(answer[:], digest[:]) // so that the compiler cannot remove the work
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(answer[:])
}

// burn takes n iterations, each of which needs the one before.
func burn(n int) [sha256.Size]byte {
	var digest [sha256.Size]byte
	for range n {
		digest = sha256.Sum256(digest[:])
	}
	return digest
}

// calibrate returns the number of iterations that take work of CPU time. It uses the fastest of
// many short batches: every disturbance (another process, a cold cache, a slow clock) only makes
// a batch longer.
func calibrate(work time.Duration) int {
	const batches, size = 200, 5_000 // some 0.5 ms each, 0.1 s in all
	runtime.LockOSThread()           // the clock below is this thread's
	defer runtime.UnlockOSThread()
	fastest := time.Duration(math.MaxInt64)
	for range batches {
		before := threadCPU()
		burn(size)
		if took := threadCPU() - before; took > 0 {
			fastest = min(fastest, took)
		}
	}
	return max(int(math.Round(float64(work)/float64(fastest)*size)), 0)
}
