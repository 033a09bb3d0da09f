package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// refresh is the interval at which collect reads the ring buffers and looks for new threads.
	refresh = 100 * time.Millisecond
	// maxThreads is the maximum number of sampled threads.
	maxThreads = 512
)

// threads are the sampled threads of a process.
type threads struct {
	open  func(tid int) (*ring, error)
	rings map[int]*ring
	left  map[int]bool // threads that are not sampled
	why   error        // why the first of left is not sampled
}

func (t *threads) close() {
	for _, r := range t.rings {
		r.close()
	}
}

// missing describes the threads that are not sampled; empty: there are none.
func (t *threads) missing() string {
	if len(t.left) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d threads were left out: %v", len(t.left), len(t.left)+len(t.rings), t.why)
}

// collect samples all threads of a process for a while. missing describes the threads that it could
// not sample; empty: there are none.
func collect(ctx context.Context, pid int, d time.Duration) (out []sample, missing string, err error) {
	t := &threads{open: open, rings: map[int]*ring{}, left: map[int]bool{}}
	defer t.close()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for ended := false; !ended; {
		if err := t.follow(pid); err != nil {
			return nil, "", err
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-deadline.C:
			ended = true
		case <-tick.C:
		}
		for _, r := range t.rings {
			out = append(out, r.read()...)
		}
	}
	return out, t.missing(), nil
}

// follow begins to sample the threads that are new, as far as limits permit.
func (t *threads) follow(pid int) error {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return fmt.Errorf("listing the process's threads: %w", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || t.rings[tid] != nil || t.left[tid] {
			continue
		}
		if len(t.rings) >= maxThreads {
			t.leave(tid, fmt.Errorf("no more than %d are sampled", maxThreads))
			continue
		}
		r, err := t.open(tid)
		switch {
		case errors.Is(err, unix.ESRCH): // the thread has just ended
		case errors.Is(err, errNoRoom) && len(t.rings) > 0:
			t.leave(tid, err)
		case err != nil:
			return fmt.Errorf("%w: sampling its threads: %w", ErrUnsupported, err)
		default:
			t.rings[tid] = r
		}
	}
	return nil
}

func (t *threads) leave(tid int, why error) {
	if t.why == nil {
		t.why = why
	}
	t.left[tid] = true
}
