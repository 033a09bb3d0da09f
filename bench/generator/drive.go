package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/raw"
	"dyno/lab/record"
)

// driveWord, as the first argument, makes this program a generator: drive URL BACKEND LENGTH.
const driveWord = "drive"

// driven is what a generator process reports.
type driven struct {
	Engine    string `json:"engine"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"` // or never answered
}

// profileVariable names a file for a CPU profile of the generator process.
const profileVariable = "GENERATOR_CPUPROFILE"

func driveMain(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: generator %s URL BACKEND LENGTH", driveWord)
	}
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	if name := os.Getenv(profileVariable); name != "" {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return drive(args[0], args[1], length)
}

// drive does what dyno load does in the closed model: the whole run is recorded and written.
func drive(url, backend string, length time.Duration) error {
	driver, err := raw.New(raw.Config{
		Target:  url,
		Backend: backend,
		Corpus: &load.Corpus{
			Requests: []load.Request{{Method: http.MethodGet, Path: "/"}},
			Classes:  make([]load.Class, 1),
		},
	})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "generator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w, err := record.Create(dir)
	if err != nil {
		return err
	}
	plan := load.Plan{Connections: connections, Length: length, Drain: time.Second, Timeout: 10 * time.Second}
	totals, _, err := load.Run(context.Background(), plan, driver, w)
	err = errors.Join(err, w.Close(&record.Run{Totals: totals}))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(driven{driver.Engine(), totals.Ended, totals.Failed})
}
