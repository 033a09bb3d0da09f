package folder

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/record/redact"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// writeRun writes a run of three windows, with 10, 20 and 30 ms in the histogram of each.
func writeRun(t *testing.T, dir string, r *record.Run) {
	t.Helper()
	w := Create(dir)
	for i, phase := range []string{record.PhaseWarmup, record.PhaseMeasure, record.PhaseDrain} {
		h := record.NewHistogram()
		h.RecordValue(int64(i+1) * 10e6)
		win := record.Window{Start: int64(100+i) * int64(record.WindowLength), Phase: phase, Client: record.Client{Offered: 1, P50Ms: 10},
			Server: &record.Server{CPU: 0.5, Gauges: map[string]float64{"depth": 3}}}
		if err := w.Window(win, map[string]*hdrhistogram.Histogram{record.HistResponse + ".200": h}); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close(r); r.Unwritten != nil {
		t.Fatal(r.Unwritten)
	}
}

func sampleRun() *record.Run {
	return &record.Run{ID: "001-single-x", Spec: record.RunSpec{Role: record.RoleSingle, Variant: "x", Rate: 100}, Started: time.Unix(1, 0).UTC(),
		Load:   record.LoadInfo{Model: "open", URL: "http://me:s3cret@127.0.0.1/"},
		Target: record.Target{Command: []string{"svc", "--token", "s3cret"}},
		SLO:    record.SLO{Latency: map[string]float64{"p99": 20}, Errors: 0.01},
		Totals: record.Totals{Offered: 3, Errors: map[string]int64{"timeout": 1}, Status: map[string]int64{"200": 2}}}
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
		{record.HistResponse, nil, 2, 30},
		{record.HistResponse, []string{record.PhaseMeasure}, 1, 20},
		{record.HistResponse, []string{record.PhaseWarmup, record.PhaseMeasure, record.PhaseDrain}, 3, 30},
		{record.HistService, nil, 0, 0},
		{"resp", nil, 0, 0}, // a prefix of a kind is not the kind
	} {
		h, err := Histogram(r, tt.kind, tt.phases...)
		if err != nil {
			t.Fatal(err)
		}
		q := record.QuantilesOf(h)
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
	r.Series[2].Phase = record.PhaseProfile // the window with 30 ms
	if err := ReadLatencies(r); err != nil {
		t.Fatal(err)
	}
	if r.Totals.Response.Max > 20.1 {
		t.Errorf("max is %v ms, read from a window in which a profile ran", r.Totals.Response.Max)
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	e := &record.Experiment{Name: "x", Scenario: "headers: {Authorization: Bearer s3cret}", Command: []string{"dyno", "-H", "X-Api-Key: s3cret"},
		Variants: []record.Variant{{Name: "a", Args: []string{"--password", "s3cret"}}}}
	if err := New(dir, e); err != nil {
		t.Fatal(err)
	}
	writeRun(t, e.RunDir("001-single-x"), sampleRun())
	if AddRun(e, sampleRun()); e.Unwritten != nil {
		t.Fatal(e.Unwritten)
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

// Two URLs to compare are also what changes between the variants.
func TestRedactExperiment(t *testing.T) {
	const url = "http://me:s3cret@127.0.0.1:80/"
	e := &record.Experiment{Command: []string{"dyno", "compare", url}, Scenario: "url: " + url,
		Variants: []record.Variant{{Name: "A", Change: url, Why: url, Args: []string{url}}}}
	if err := New(t.TempDir(), e); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(e.Dir, ExperimentFile))
	if err != nil || strings.Contains(string(text), "s3cret") || strings.Count(string(text), redact.Mark) != 5 {
		t.Errorf("%v; the record holds\n%s", err, text)
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
		{write(ExperimentFile, `{"version": 1}`), "format version 1, whose searches"},
		{write(ExperimentFile, `{"version": 2, "runs": ["../../x"]}`), "not a folder inside it"},
		{write(ExperimentFile, `{"version": 2, "runs": ["001"]}`), "run 001"},
		{write(RunFile, `{"version": 1}`), "format version 1, whose"},
		{write(RunFile, `{"version": 2}`), SeriesFile},
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
	w := Create(dir)
	defer w.Close(sampleRun())
	for n := 1; n <= 3; n++ {
		if err := w.Window(record.Window{Start: int64(n) * int64(record.WindowLength), Phase: record.PhaseMeasure}, nil); err != nil {
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

// Slices read back as they were written; a half-written line, left by a killed lab, is skipped.
func TestSlicesOnDisk(t *testing.T) {
	e := &record.Experiment{Name: "x", Kind: record.KindCompare}
	if err := New(filepath.Join(t.TempDir(), "out"), e); err != nil {
		t.Fatal(err)
	}
	work := record.Slice{Kind: record.SliceWork, Role: record.RoleMeasure, Variant: "a", Generation: 1, Block: 2, Length: time.Second, Offered: 200, Served: 190, Failed: 6, Unfinished: 4, TargetCPU: 0.19, Allocs: -1, AllocBytes: -1}
	trial := record.Slice{Kind: record.SliceSLO, Role: record.RoleControl, Variant: "a", Rate: 100, Met: true, Latency: record.Quantiles{P99: 3}}
	for _, s := range []record.Slice{work, trial} {
		if AddSlice(e, s); e.Unwritten != nil {
			t.Fatal(e.Unwritten)
		}
	}
	f, err := os.OpenFile(filepath.Join(e.Dir, SlicesFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"kind":"wor`)
	f.Close()
	again, err := Open(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Slices) != 2 || again.Slices[0].Served != 190 || again.Slices[1].Latency.P99 != 3 || !again.Slices[1].Met {
		t.Fatalf("%+v", again.Slices)
	}
	for name, written := range map[string]string{
		"no slice": "{\"kind\":1}\n",
		"too long": "{\"variant\":\"" + strings.Repeat("v", maxLine) + "\"}\n",
	} {
		os.WriteFile(filepath.Join(e.Dir, SlicesFile), []byte("{}\n"+written), 0o644)
		if _, err := Open(e.Dir); err == nil || !strings.Contains(err.Error(), SlicesFile+": line 2: ") {
			t.Errorf("a line that is %s: %v", name, err)
		}
	}
}
