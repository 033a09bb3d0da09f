package main

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/parts/quicktest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stepAt(rate float64) record.Step { return record.Step{Rate: rate, Length: 2 * time.Second} }

// installed is the folder of a PostgreSQL of this machine.
func installed(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil {
			return filepath.Dir(real)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("there is no PostgreSQL here; install one (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1])
}

// All sides answer alike and can be measured, and nothing is left behind.
func TestSmoke(t *testing.T) {
	quicktest.Skip(t, "builds four programs and runs them")
	b, err := newBench(t.Context(), options{pairs: 1, quick: true, length: time.Second, warmup: 100 * time.Millisecond, connections: 8,
		postgresBin: installed(t), rows: 1000, accounts: 10, lines: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close() // if the test fails before
	if err := b.sameAnswers(t.Context()); err != nil {
		t.Error(err)
	}
	r := newReport(b)
	for _, side := range []string{ordersd, peer} {
		run, err := b.load(t.Context(), side, record.Step{Rate: 300, Length: 500 * time.Millisecond}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Totals; got.Completed == 0 || got.Failed > 0 || len(run.Series) == 0 || run.Environment.CompanionCPU <= 0 && run.Environment.Seen {
			t.Errorf("%s: %+v, %+v", side, got, run.Environment)
		}
		r.add(side, datum{capacity: 1})
	}
	if b.pgbench == nil {
		t.Log(noPgbench)
	} else if rate, err := b.tps(t.Context(), 2); err != nil || !(rate > 0) {
		t.Errorf("pgbench: %v/s, %v", rate, err)
	}
	r.prepared(b)
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Error(err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	u, err := url.Parse(b.database.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", u.Host); err == nil {
		c.Close()
		t.Error("PostgreSQL still runs")
	}
	if _, err := os.Stat(b.work); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", b.work, err)
	}
}
