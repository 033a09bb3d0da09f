// Package protocol holds that the lab reads what a job of this repository prints: it is the one
// place from which both parts/progress and lab/load/windows can be seen.
package protocol

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/parts/progress"
)

// recorded counts what the lab recorded.
type recorded struct {
	client record.Client
	gauge  float64
}

func (w *recorded) Window(win record.Window, _ map[string]*hdrhistogram.Histogram) error {
	w.client.Offered += win.Client.Offered
	w.client.Ended += win.Client.Ended
	w.client.Failed += win.Client.Failed
	if win.Server != nil {
		w.gauge = max(w.gauge, win.Server.Gauges["depth"])
	}
	return nil
}

// drive lets the lab read what a job prints.
func drive(t *testing.T, job func(w *progress.Writer) error) (record.Totals, recorded, error) {
	t.Helper()
	r, out := io.Pipe()
	var working sync.WaitGroup
	working.Go(func() {
		w := progress.New(out)
		w.Gauge("depth", func() float64 { return 7 })
		w.Close(job(w))
		out.Close()
	})
	var seen recorded
	totals, _, err := load.Run(t.Context(), load.Plan{}, windows.New("job", r), &seen)
	working.Wait()
	return totals, seen, err
}

func TestLabReadsWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		totals, seen, err := drive(t, func(w *progress.Writer) error {
			for i := range 100 {
				time.Sleep(20 * time.Millisecond)
				w.Done(20*time.Millisecond, 10, i%10 == 0)
			}
			time.Sleep(100 * time.Millisecond) // the last unit's window is whole
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if totals.Offered != 100 || totals.Ended != 100 || totals.Failed != 10 || totals.Unfinished != 0 {
			t.Errorf("measured %+v", totals)
		}
		if seen.client.Offered != 100 || seen.client.Ended != 100 || seen.client.Failed != 10 || seen.gauge != 7 {
			t.Errorf("windows %+v", seen)
		}
		if p50 := totals.Response.P50; p50 < 19.9 || p50 > 20.1 {
			t.Errorf("response p50 %v ms, want 20", p50)
		}
	})
}

func TestLabReadsWhyAJobFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := drive(t, func(w *progress.Writer) error {
			time.Sleep(time.Second)
			return errors.New("no server has ledger 7")
		})
		if err == nil || !strings.Contains(err.Error(), "no server has ledger 7") {
			t.Errorf("%v", err)
		}
	})
}
