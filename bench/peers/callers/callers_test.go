package callers

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// Calls count as many units as they say, each from a caller of its own.
func TestRun(t *testing.T) {
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	var opened, calls atomic.Int64
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, out, 3, 10, func(int) (func() error, error) {
			opened.Add(1)
			return func() error {
				if calls.Add(1) == 50 {
					stop()
				}
				return nil
			}, nil
		})
		out.Close()
		ended <- err
	}()
	totals, _, err := load.Run(t.Context(), load.Plan{}, windows.New("calls", r), nowhere{})
	if failed := <-ended; err != nil || failed != nil || opened.Load() != 3 || calls.Load() < 50 || totals.Ended == 0 || totals.Ended%10 != 0 {
		t.Errorf("%v, %v: %d callers, %d calls, %d units", err, failed, opened.Load(), calls.Load(), totals.Ended)
	}
}

// The first error ends all callers, and is what the job says.
func TestRunFails(t *testing.T) {
	var said strings.Builder
	err := Run(t.Context(), &said, 4, 1, func(caller int) (func() error, error) {
		return func() error {
			if caller == 2 {
				return errors.New("no room")
			}
			time.Sleep(time.Millisecond)
			return nil
		}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "no room") || !strings.Contains(said.String(), "no room") {
		t.Errorf("%v: %s", err, said.String())
	}
	for _, n := range [][2]int{{0, 1}, {most + 1, 1}, {1, 0}} {
		if err := Run(t.Context(), io.Discard, n[0], n[1], nil); err == nil {
			t.Errorf("%d callers with %d units were accepted", n[0], n[1])
		}
	}
}

func TestChildThatIsMissing(t *testing.T) {
	if _, err := Child("apt-get install it", "no-such-program-here"); err == nil || !strings.Contains(err.Error(), "apt-get install it") {
		t.Errorf("%v", err)
	}
}
