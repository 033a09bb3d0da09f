package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every subject is measured once in each round, and not always after the same one.
func TestOrder(t *testing.T) {
	for _, n := range []int{1, 2, 7, len(subjects)} {
		before := map[[2]int]int{}
		for round := range 6 {
			o := order(n, round)
			if s := slices.Sorted(slices.Values(o)); len(s) != n || s[0] != 0 || s[n-1] != n-1 || len(slices.Compact(s)) != n {
				t.Fatalf("%d subjects, round %d: %v", n, round, o)
			}
			for i := 1; i < n; i++ {
				before[[2]int{o[i-1], o[i]}]++
			}
			if round%2 == 1 {
				back := order(n, round-1)
				slices.Reverse(back)
				if !slices.Equal(back, o) {
					t.Errorf("round %d is not the way back of the one before: %v", round, o)
				}
			}
		}
		for pair, times := range before {
			if times > 3 {
				t.Errorf("%d subjects: %d is measured after %d in %d rounds of 6", n, pair[1], pair[0], times)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range comparisons {
		for _, name := range []string{c.a, c.b} {
			if _, err := subjectOf(name); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{reference, bare} {
		if _, err := subjectOf(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := chosen("nothing"); err == nil {
		t.Error("subjects were chosen by a word that none has")
	}
}

// Each subject that needs no server appends, and says how long it took.
func TestBareSubjects(t *testing.T) {
	for _, s := range subjects[:8] {
		t.Run(s.name, func(t *testing.T) {
			o, err := s.open(t.Context(), environment{dir: t.TempDir(), callers: s.callers, batch: s.batch})
			if err != nil {
				t.Fatal(err)
			}
			m, err := measure(t.Context(), s, o, 50*time.Millisecond)
			for length := 100 * time.Millisecond; errors.Is(err, errNothing); length *= 2 { // a slow disk
				m, err = measure(t.Context(), s, o, length)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := o.close(); err != nil {
				t.Fatal(err)
			}
			if m.Records <= 0 || m.PerSecond <= 0 || m.P50 <= 0 || m.P99 < m.P50 || m.PerRequest != 1 {
				t.Errorf("%+v", m)
			}
		})
	}
}

// An error of a subject, or an interruption, ends its measurement.
func TestMeasureEnds(t *testing.T) {
	s := subject{callers: 3, batch: 1}
	failing := &opened{caller: func(int) (func() error, error) {
		return func() error { return io.ErrShortWrite }, nil
	}}
	if _, err := measure(t.Context(), s, failing, time.Hour); err == nil || !strings.Contains(err.Error(), "short write") {
		t.Errorf("a subject that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := &opened{caller: func(int) (func() error, error) {
		return func() error { cancel(); return nil }, nil
	}}
	if _, err := measure(ctx, s, endless, time.Hour); err != context.Canceled {
		t.Errorf("a measurement that was interrupted: %v", err)
	}
}

func TestIngestRequest(t *testing.T) {
	for _, n := range []int{1, 64} {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(ingestRequest("h", n))))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
		if len(body) != n*recordBytes || len(lines) != n || r.Header.Get("Content-Type") == "application/json" != (n == 1) {
			t.Fatalf("%d notices: %d lines, %d bytes of %s", n, len(lines), len(body), r.Header.Get("Content-Type"))
		}
		for _, line := range lines {
			var notice struct{ Key, Type, Payload string }
			if err := json.Unmarshal(line, &notice); err != nil || notice.Key == "" || notice.Type == "" {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
}

func TestAccepted(t *testing.T) {
	const good = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
	const chunked = "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	r := bufio.NewReader(strings.NewReader(good + chunked + good + "HTTP/1.1 507 Full\r\nContent-Length: 4\r\n\r\nfull"))
	for i := range 3 {
		if err := accepted(r); err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
	}
	if err := accepted(r); err == nil || !strings.Contains(err.Error(), "507 Full: full") {
		t.Errorf("a refusal: %v", err)
	}
	for _, bad := range []string{"", "HTTP/1.1 202 OK\r\n", "HTTP/1.1 202 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 202 OK\r\n\r\nzz\r\n"} {
		if err := accepted(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzAccepted(f *testing.F) {
	f.Add("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}")
	f.Add("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	f.Add("HTTP/1.1 500 No\r\ncontent-length: -5\r\n\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		if err := accepted(bufio.NewReader(strings.NewReader(s))); err == nil && !strings.HasPrefix(s, "HTTP/1.1 202 ") {
			t.Errorf("%q was taken for a 202", s)
		}
	})
}

func TestReport(t *testing.T) {
	r := newReport(options{rounds: 6, length: time.Second}, []string{"redis-64: redis-server is not installed"})
	r.SyncMicros = []float64{150, 160, 150}
	for round := range 6 {
		for i, name := range []string{bare, reference} {
			s, err := subjectOf(name)
			if err != nil {
				t.Fatal(err)
			}
			r.add(s, measured{Records: 10, PerSecond: float64(1000*(3-2*i) + round), P50: 100, P99: 200})
		}
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	if len(r.Ratios) != 1 || r.Ratios[0].Ratio < 2.9 || r.Ratios[0].Ratio > 3 || r.Ratios[0].Worst != 3000.0/1005 || r.Ratios[0].Interval == nil {
		t.Fatalf("%+v", r.Ratios)
	}
	for _, want := range []string{"150 us (150 to 160", "segment-group", "2.99", "skipped: redis-64", "3002"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
	r.json = true
	out.Reset()
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	var again report
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || len(again.Subjects) != 2 || again.Subjects[0].Interval == nil {
		t.Errorf("the JSON: %v\n%s", err, out.String())
	}
}
