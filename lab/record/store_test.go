package record

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// writeRun writes a run of three windows, with 10, 20 and 30 ms in the histogram of each.
func writeRun(t *testing.T, dir string, r *Run) {
	t.Helper()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, phase := range []string{PhaseWarmup, PhaseMeasure, PhaseDrain} {
		h := NewHistogram()
		h.RecordValue(int64(i+1) * 10e6)
		win := Window{Start: int64(100+i) * int64(WindowLength), Phase: phase, Client: Client{Offered: 1, P50Ms: 10},
			Server: &Server{CPU: 0.5, Gauges: map[string]float64{"depth": 3}}}
		if err := w.Window(win, map[string]*hdrhistogram.Histogram{HistResponse + ".200": h}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(r); err != nil {
		t.Fatal(err)
	}
}

func sampleRun() *Run {
	return &Run{ID: "001-single-x", Step: Step{Role: RoleSingle, Variant: "x", Rate: 100}, Started: time.Unix(1, 0).UTC(),
		Load:   Load{Model: "open", URL: "http://me:s3cret@127.0.0.1/"},
		Target: Target{Command: []string{"svc", "--token", "s3cret"}},
		SLO:    SLO{Latency: map[string]float64{"p99": 20}, Errors: 0.01},
		Totals: Totals{Offered: 3, Errors: map[string]int64{"timeout": 1}, Status: map[string]int64{"200": 2}}}
}

func TestRunIsReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	r := sampleRun()
	writeRun(t, dir, r)
	got, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Series) != 3 || got.Series[1].Server.Gauges["depth"] != 3 {
		t.Fatalf("series: %+v", got.Series)
	}
	got.Series, got.Dir = nil, ""
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v\nwant %+v", got, r)
	}
}

func TestHistogramByPhase(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, sampleRun())
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kind   string
		phases []string
		count  int64
		maxMs  float64
	}{
		{HistResponse, nil, 2, 30},
		{HistResponse, []string{PhaseMeasure}, 1, 20},
		{HistResponse, []string{PhaseWarmup, PhaseMeasure, PhaseDrain}, 3, 30},
		{HistService, nil, 0, 0},
		{"resp", nil, 0, 0}, // a prefix of a kind is not the kind
	} {
		h, err := r.Histogram(tt.kind, tt.phases...)
		if err != nil {
			t.Fatal(err)
		}
		q := QuantilesOf(h)
		if h.TotalCount() != tt.count || q.Max < tt.maxMs*0.999 || q.Max > tt.maxMs*1.002 {
			t.Errorf("%s %v: %d values up to %v ms, want %d up to %v", tt.kind, tt.phases, h.TotalCount(), q.Max, tt.count, tt.maxMs)
		}
	}
}

// A window in which a profile ran does not enter the reported latency.
func TestReadLatenciesLeavesProfilesOut(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, sampleRun())
	r, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Series[2].Phase = PhaseProfile // the window with 30 ms
	if err := r.ReadLatencies(); err != nil {
		t.Fatal(err)
	}
	if r.Totals.Response.Max > 20.1 {
		t.Errorf("max is %v ms, read from a window in which a profile ran", r.Totals.Response.Max)
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	e := &Experiment{Name: "x", Scenario: "headers: {Authorization: Bearer s3cret}", Command: []string{"dyno", "-H", "X-Api-Key: s3cret"},
		Variants: []Variant{{Name: "a", Args: []string{"--password", "s3cret"}}}}
	if err := NewExperiment(dir, e); err != nil {
		t.Fatal(err)
	}
	writeRun(t, e.RunDir("001-single-x"), sampleRun())
	if err := e.Add(sampleRun()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), "s3cret") {
			t.Errorf("%s holds a secret:\n%s", p, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Runs) != 1 || got.Runs[0].ID != "001-single-x" {
		t.Errorf("runs: %+v", got.Runs)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	write := func(name, content string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, tt := range []struct{ dir, want string }{
		{filepath.Join(t.TempDir(), "absent"), "no folder"},
		{t.TempDir(), "not a folder that dyno wrote"},
		{write(ExperimentFile, "{"), ExperimentFile},
		{write(ExperimentFile, `{"version": 99}`), "format version 99"},
		{write(ExperimentFile, `{"version": 1, "runs": ["../../x"]}`), "not a folder inside it"},
		{write(ExperimentFile, `{"version": 1, "runs": ["001"]}`), "run 001"},
		{write(RunFile, `{"version": 1}`), SeriesFile},
	} {
		if _, err := Open(tt.dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want an error with %q", err, tt.want)
		}
	}
}

func FuzzReadSeries(f *testing.F) {
	f.Add(`{"t_ns":1,"phase":"measure","client":{"offered":3}}` + "\n")
	f.Fuzz(func(t *testing.T, s string) { readSeries(strings.NewReader(s)) })
}

// A process that follows the run reads every window as soon as it was written.
func TestWindowIsThereAtOnce(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(sampleRun())
	for n := 1; n <= 3; n++ {
		if err := w.Window(Window{Start: int64(n) * int64(WindowLength), Phase: PhaseMeasure}, nil); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, SeriesFile))
		if err != nil {
			t.Fatal(err)
		}
		seen, err := readSeries(f)
		if f.Close(); err != nil || len(seen) != n {
			t.Errorf("after %d windows the file holds %d (%v)", n, len(seen), err)
		}
	}
}
