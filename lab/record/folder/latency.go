package folder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram merges the run's histograms whose tag is kind or a subdivision of it, over the
// windows of the named phases (default: measure and drain). It reads latency.hlog at every call.
func Histogram(r *record.Run, kind string, phases ...string) (*hdrhistogram.Histogram, error) {
	if len(phases) == 0 {
		phases = []string{record.PhaseMeasure, record.PhaseDrain}
	}
	wanted := map[int64]bool{}
	for _, w := range r.Series {
		for _, p := range phases {
			if w.Phase == p {
				wanted[w.Start/int64(record.WindowLength)] = true
			}
		}
	}
	f, err := os.Open(filepath.Join(r.Dir, latencyFile))
	if err != nil {
		return nil, fmt.Errorf("reading a run's latencies: %w", err)
	}
	defer f.Close()
	sum := record.NewHistogram()
	log := hdrhistogram.NewHistogramLogReader(f)
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if h == nil || err != nil {
			return sum, nil
		}
		if wanted[logWindow(h.StartTimeMs())] && record.MatchTag(h.Tag(), kind) {
			sum.Merge(h)
		}
	}
}

// logWindow returns the number of the window that a line of the log belongs to. The log's reader
// converts through seconds in floating point, so its times are 1 ms short for one window in 160.
func logWindow(startMs int64) int64 {
	length := record.WindowLength.Milliseconds()
	return (startMs + length/2) / length
}

// ReadLatencies sets the run's quantiles from latency.hlog, over the windows of the phases
// measure and drain. It is for a run some of whose windows were excluded after its totals were
// taken, because a profile ran in them.
func ReadLatencies(r *record.Run) error {
	of := map[string]*record.Quantiles{
		record.HistResponse: &r.Totals.Response, record.HistService: &r.Totals.Service, record.HistDelivery: &r.Totals.Delivery,
	}
	if r.Totals.Flow != nil {
		of[record.HistFlow] = r.Totals.Flow
	}
	for kind, into := range of {
		h, err := Histogram(r, kind)
		if err != nil {
			return err
		}
		*into = record.QuantilesOf(h)
	}
	return nil
}
