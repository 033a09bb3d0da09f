package folder

import (
	"path/filepath"
	"testing"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// No window's histograms are lost on the way through the log, whenever it began: the log's reader
// returns 32.3 s as 32,299 ms.
func TestHistogramFindsEveryWindow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := Create(dir)
	const windows = 1000
	h := record.NewHistogram()
	h.RecordValue(1e6)
	for i := range int64(windows) {
		win := record.Window{Start: i * int64(record.WindowLength), Phase: record.PhaseMeasure}
		if err := w.Window(win, map[string]*hdrhistogram.Histogram{record.HistService: h}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close(&record.Run{ID: "run"})
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := Histogram(r, record.HistService); err != nil || sum.TotalCount() != windows {
		t.Errorf("%d of %d windows were found (%v)", sum.TotalCount(), windows, err)
	}
}
