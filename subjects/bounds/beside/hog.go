package beside

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// Hog burns CPU on a number of threads until SIGTERM, SIGINT or the end of stdin: a hog does not
// outlive the process at the other end.
func Hog(threads int, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := untilStopped(stdin)
	defer stop()
	// One more, so that the signal and the end of stdin are noticed immediately.
	runtime.GOMAXPROCS(threads + 1)
	var done atomic.Bool
	var burning sync.WaitGroup
	for range threads {
		burning.Go(func() {
			for n := uint64(0); n%1024 != 0 || !done.Load(); n++ {
			}
		})
	}
	defer burning.Wait()
	defer done.Store(true)
	if err := json.NewEncoder(stdout).Encode(map[string]any{"ready": true, "pid": os.Getpid(), "threads": threads}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// untilStopped returns a context that ends with SIGTERM, SIGINT or stdin. Its one goroutine reads
// stdin to the end, so it ends with the process at the other end, or with this one.
func untilStopped(stdin io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go func() {
		io.Copy(io.Discard, stdin)
		stop()
	}()
	return ctx, stop
}
