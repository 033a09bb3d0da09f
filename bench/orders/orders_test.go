package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// Every side is measured once in each round, and not always after the same one.
func TestOrder(t *testing.T) {
	const n = 4
	after := map[[2]int]int{}
	for round := range 8 {
		o := order(n, round)
		if s := slices.Sorted(slices.Values(o)); !slices.Equal(s, []int{0, 1, 2, 3}) {
			t.Fatalf("round %d: %v", round, o)
		}
		for i := 1; i < n; i++ {
			after[[2]int{o[i-1], o[i]}]++
		}
		if back := order(n, round^1); round%2 == 1 && o[0] != back[n-1] {
			t.Errorf("round %d is not the way back of the one before: %v, %v", round, back, o)
		}
	}
	if most := slices.Max(slices.Collect(maps.Values(after))); most > 3 {
		t.Errorf("a side follows the same other %d times in 8 rounds", most)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args  string
		wrong string // part of the error; "": none
	}{
		{"--pairs 6", ""}, {"--pairs 10 --connections 64 --length 2s", ""}, {"--quick", ""},
		{"--pairs 3", "at least 4"}, {"--length 500ms", "--length"}, {"--warmup -1s", "--warmup"},
		{"--budget 0s", "--budget"}, {"--connections 0", "--connections"}, {"now", "no arguments"},
	} {
		_, err := parse(strings.Fields(c.args))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	if o, _ := parse([]string{"--quick"}); o.pairs != 2 || o.budget >= defaults.budget {
		t.Errorf("--quick is not quick: %+v", o)
	}
}

// A side that cannot be measured leaves a hole, and the next is measured all the same.
func TestCounted(t *testing.T) {
	b := &bench{}
	runs := 0
	r, err := b.counted(t.Context(), peer, func() (*record.Run, error) { runs++; return nil, errors.New("it ended") })
	if r != nil || err != nil || runs != tries || b.counts.disturbed != tries {
		t.Errorf("%v, %v after %d runs, %+v", r, err, runs, b.counts)
	}
	ctx, stop := context.WithCancel(t.Context())
	if _, err = b.counted(ctx, peer, func() (*record.Run, error) { stop(); return nil, errors.New("it ended") }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestReadTPS(t *testing.T) {
	for _, c := range []struct {
		out  string
		want float64 // 0: an error
	}{
		{"pgbench (15.18)\nnumber of failed transactions: 0 (0.000%)\nlatency average = 0.357 ms\ntps = 22347.504518 (without initial connection time)\n", 22347.504518},
		{"tps = 900.1 (including connections establishing)\ntps = 1000.5 (excluding connections establishing)\n", 1000.5},
		{"number of failed transactions: 3 (0.100%)\ntps = 22347.5 (without initial connection time)\n", 0},
		{"tps = 0.000000 (without initial connection time)\n", 0},
		{"tps = 1.2.3 (without initial connection time)\n", 0},
		{"pgbench: error: connection failed", 0},
		{"", 0},
	} {
		if got, err := readTPS(c.out); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: %v, %v", c.out, got, err)
		}
	}
}

func FuzzReadTPS(f *testing.F) {
	f.Add("number of failed transactions: 0 (0.000%)\ntps = 22347.5 (without initial connection time)\n")
	f.Fuzz(func(t *testing.T, out string) {
		if rate, err := readTPS(out); err == nil && !(rate > 0) {
			t.Errorf("%q was read as %v", out, rate)
		}
	})
}

func TestReadRequests(t *testing.T) {
	const head = "uid,account,token\n"
	got, err := readRequests(strings.NewReader(head + "11,A1,x.y.z\n21,A1,x.y.z\n12,A2,u.v.w\n"))
	if want := []request{{"11", "A1", "x.y.z"}, {"12", "A2", "u.v.w"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", head, head + "1,A1,x\n2,A1,x\n", "a,b\n1,2\n", head + "1,A1\n"} {
		if got, err := readRequests(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestBeside(t *testing.T) {
	got, err := beside("postgres://u:p@127.0.0.1:5433/orders?sslmode=disable", "pgbench")
	if want := "postgres://u:p@127.0.0.1:5433/pgbench?sslmode=disable"; got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "host=x", "://"} {
		if _, err := beside(bad, "pgbench"); err == nil {
			t.Errorf("%q was taken for a URL", bad)
		}
	}
}

func TestBest(t *testing.T) {
	rates := map[int]float64{2: 10, 4: 30, 8: 20}
	if n, err := best([]int{2, 4, 8}, func(n int) (float64, error) { return rates[n], nil }); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	failed := errors.New("no")
	if _, err := best([]int{2, 4}, func(int) (float64, error) { return 0, failed }); err != failed {
		t.Errorf("error %v", err)
	}
}

func TestBars(t *testing.T) {
	in := func(low, high float64) *[2]float64 { return &[2]float64{low, high} }
	for _, c := range []struct {
		bar  bar
		in   *[2]float64
		want string
	}{
		{bar{atLeast: 2}, in(2, 2.5), met}, {bar{atLeast: 2}, in(1.9, 2.5), notShown}, {bar{atLeast: 2}, in(1.5, 1.9), notMet},
		{bar{atMost: 0.5}, in(0.2, 0.5), met}, {bar{atMost: 0.5}, in(0.4, 0.6), notShown}, {bar{atMost: 0.5}, in(0.6, 0.7), notMet},
		{bar{atLeast: 2}, nil, notShown}, {bar{}, in(1, 2), ""},
	} {
		if got := c.bar.verdict(c.in); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.bar, c.in, got, c.want)
		}
	}
}

// made is the report of six rounds of made-up figures.
func made() *report {
	b := &bench{options: defaults, pool: 16, database: &database{version: "17.5"}, pgbench: &pgbench{version: "pgbench 17.5", clients: 8}}
	r := newReport(b)
	r.prepared(b)
	for round := range 6 {
		noise := 1 + float64(round%2)/100
		r.add(ordersd, datum{30_000, 25_000 * noise})
		r.add(peer, datum{12_000, 6_000})
		r.add(plain, datum{11_000, 9_000})
		r.add(bare, datum{peak: 25_000})
		r.p99[ordersd], r.p99[peer] = append(r.p99[ordersd], 6*noise), append(r.p99[peer], 10)
	}
	r.rate = 7000
	return r
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	if err := made().print(&out); err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	for _, x := range made().ratios() {
		verdicts = append(verdicts, x.what+" over "+x.over+": "+x.bar.verdict(x.Interval))
	}
	want := []string{"capacity over fasthttp+pgx: met", "capacity over pgbench -S: not shown", "p99 at one rate over fasthttp+pgx: not met",
		"capacity over plain: ", "closed model over fasthttp+pgx: ", "closed model over plain: ", "closed model over pgbench -S: "}
	if !slices.Equal(verdicts, want) {
		t.Errorf("verdicts %q", verdicts)
	}
	for _, part := range []string{"PostgreSQL 17.5", "fasthttp+pgx: 16 connections", "-c 8 -j 2", "p99 ms at 7000/s", "4.19", "4.16 to 4.21", ">= 4.0", "not shown"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in the report:\n%s", part, out.String())
		}
	}
}

// What could not be measured is left out, and too little of it left gives no verdict.
func TestReportOfHoles(t *testing.T) {
	r := made()
	for i := range 3 {
		r.data[peer][i].capacity = 0
	}
	r.p99 = map[string][]float64{}
	rows := r.ratios()
	if rows[0].Pairs != 3 || rows[0].bar.verdict(rows[0].Interval) != notShown {
		t.Errorf("%+v", rows[0])
	}
	if rows[2].Pairs != 0 || rows[2].bar.verdict(rows[2].Interval) != notShown {
		t.Errorf("%+v", rows[2])
	}
	if m := median(r.capacities(peer)); m != 6_000 {
		t.Errorf("the median with a hole is %v", m)
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "pair 3 is left out") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestReportWithoutPgbench(t *testing.T) {
	b := &bench{options: defaults, database: &database{}}
	r := newReport(b)
	r.prepared(b)
	for range 6 {
		for _, side := range servers {
			r.add(side, datum{2, 1})
		}
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "skipped: "+bare) || strings.Count(out.String(), bare) != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestPlan(t *testing.T) {
	b := &bench{options: options{warmup: time.Second, connections: 3}}
	if p := b.plan(stepAt(0), 1); p.Open() {
		t.Error("a load without a rate is not of the closed model")
	}
	p := b.plan(stepAt(1000), 1)
	n := 0
	for s := p.Schedule(); ; n++ {
		if _, ok := s.Next(); !ok {
			break
		}
	}
	if n < 2500 || n > 3500 { // 3 s; 9 standard deviations
		t.Errorf("%d offers in 3 s at 1000/s", n)
	}
}
