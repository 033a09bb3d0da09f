package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

func TestArithmetic(t *testing.T) {
	for _, c := range []struct {
		job   job
		perS  float64
		takes time.Duration
	}{
		{job{workers: 1, unit: 10 * time.Millisecond}, 100, 10 * time.Millisecond},
		{job{workers: 3, unit: 10 * time.Millisecond, roof: 400}, 300, 10 * time.Millisecond},
		{job{workers: 8, unit: 10 * time.Millisecond, roof: 400}, 400, 20 * time.Millisecond},
	} {
		if x, s := c.job.perSecond(), c.job.takes(); x != c.perS || s != c.takes {
			t.Errorf("%+v does %g/s of %v, want %g and %v", c.job, x, s, c.perS, c.takes)
		}
	}
}

// A job with an end does all of its units, and its windows add up to them.
func TestWindowsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), job{workers: 8, unit: 10 * time.Millisecond, roof: 37, units: 11}, "", &out); err != nil {
			t.Fatal(err)
		}
		var done, offered, backlog int64
		ended := false
		for d := json.NewDecoder(&out); d.More(); {
			var l struct {
				line
				End bool `json:"end"`
			}
			if err := d.Decode(&l); err != nil || ended {
				t.Fatalf("after the end: %v, %v", ended, err)
			}
			done, offered, ended = done+l.Client.Completed, offered+l.Client.Offered, l.End
			if !ended {
				backlog = l.Client.Backlog
			}
		}
		if done != 11 || offered != 11 || backlog != 0 || !ended {
			t.Errorf("%d done, %d offered, %d in progress, ended: %v", done, offered, backlog, ended)
		}
	})
}
