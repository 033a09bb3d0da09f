package folder

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dyno/lab/record"
)

// A disk that fills up during a run loses the folder; the run and its windows are still there.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := Create(dir)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	for i := range int64(4) {
		if i == 2 {
			w.series.Close()
			w.series = full
		}
		if err := w.Window(record.Window{Start: i}, nil); err != nil {
			t.Fatal(err)
		}
	}
	r := sampleRun()
	w.Close(r)
	if !errors.Is(r.Unwritten, syscall.ENOSPC) || len(r.Series) != 4 || r.Series[3].Start != 3 {
		t.Errorf("%v, %d windows", r.Unwritten, len(r.Series))
	}
	if _, err := os.Stat(filepath.Join(dir, RunFile)); err == nil {
		t.Error("the folder looks complete")
	}
	e := &record.Experiment{Name: "x"}
	if err := New(filepath.Dir(dir), e); err != nil {
		t.Fatal(err)
	}
	AddRun(e, r)
	AddSlice(e, record.Slice{})
	if len(e.Runs) != 1 || len(e.Slices) != 1 || !errors.Is(e.Unwritten, syscall.ENOSPC) {
		t.Errorf("%d runs, %d slices, %v", len(e.Runs), len(e.Slices), e.Unwritten)
	}
	if read, err := Open(filepath.Dir(dir)); err != nil || len(read.Runs)+len(read.Slices) != 0 {
		t.Errorf("the folder names what it does not hold: %+v, %v", read, err)
	}
}

// A folder that cannot be made is lost as well.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w, r := Create(filepath.Join(file, "run")), sampleRun()
	if err := w.Window(record.Window{Start: 7}, nil); err != nil {
		t.Fatal(err)
	}
	if w.Close(r); r.Unwritten == nil || len(r.Series) != 1 {
		t.Errorf("%v, %d windows", r.Unwritten, len(r.Series))
	}
}
