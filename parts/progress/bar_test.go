package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// job returns a job with a constant rate per second.
func job(done, perSecond, total int64, note string) func() State {
	begin := time.Now()
	return func() State {
		return State{Done: min(total, done+int64(time.Since(begin).Seconds()*float64(perSecond))), Total: total, Note: note}
	}
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := Show(&out, "ledgers", job(600, 20, 1200, "bound by the server's budget"))
		time.Sleep(25 * time.Second)
		b.Close()
		b.Close() // calling it twice is harmless
		want := "800 of 1200 ledgers (66.7%), 20/s, ETA 20s, bound by the server's budget\n" +
			"1000 of 1200 ledgers (83.3%), 20/s, ETA 10s, bound by the server's budget\n" +
			"1100 of 1200 ledgers (91.7%), 20/s, ETA 5s, bound by the server's budget\n"
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", &out, want)
		}
	})
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		name           string
		done, total    int64
		perSecond      int64
		seconds        int
		want           string
		wantAtTheStart string
	}{
		{"unknown total", 5, 0, 1, 3, "8 units, 1/s", "5 units"},
		{"nothing moves", 5, 10, 0, 3, "5 of 10 units (50.0%), 0/s", "5 of 10 units (50.0%)"},
		{"all is done", 10, 10, 0, 3, "10 of 10 units (100.0%), 0/s", "10 of 10 units (100.0%)"},
		{"it will take years", 0, 1 << 60, 1, 3, "3 of 1152921504606846976 units (0.0%), 1/s", "0 of 1152921504606846976 units (0.0%)"},
		{"fast", 0, 1 << 20, 12345, 2, "24690 of 1048576 units (2.4%), 12345/s, ETA 1m23s", "0 of 1048576 units (0.0%)"},
	} {
		var b Bar
		b.units = "units"
		now := time.Unix(0, 0)
		b.rate.add(now, c.done)
		if got := b.describe(State{Done: c.done, Total: c.total}); got != c.wantAtTheStart {
			t.Errorf("%s: %q at the start, want %q", c.name, got, c.wantAtTheStart)
		}
		for range c.seconds {
			now = now.Add(time.Second)
			c.done += c.perSecond
			b.rate.add(now, c.done)
		}
		if got := b.describe(State{Done: c.done, Total: c.total}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The rate drops readings older than a minute.
func TestRateIsOfTheLastMinute(t *testing.T) {
	var r rate
	now, count := time.Unix(0, 0), int64(0)
	for second := range 300 {
		r.add(now, count)
		r.add(now.Add(time.Millisecond), count+1e6) // too soon for another reading
		now = now.Add(time.Second)
		if count += 10; second >= 200 {
			count += 90
		}
	}
	if got, ok := r.perSecond(); !ok || got != 100 {
		t.Errorf("%v/s, want 100", got)
	}
}

func TestTerminal(t *testing.T) {
	for _, colour := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			b := show(&out, "ledgers", job(0, 10, 100, "bound by cpu"), func() int { return 100 }, colour)
			time.Sleep(20 * time.Second)
			b.Close()
			drawn := out.String()
			for _, part := range []string{" 50% ", "50 of 100 ledgers (50.0%), 10/s, ETA 5s, bound by cpu", "100%", "100 of 100 ledgers (100.0%)"} {
				if !strings.Contains(drawn, part) {
					t.Errorf("colour %v: %q is not in %q", colour, part, drawn)
				}
			}
			if strings.Contains(drawn, "\x1b[32m") != colour {
				t.Errorf("colour %v: %q", colour, drawn)
			}
			if !strings.HasSuffix(drawn, "\n") {
				t.Error("what is printed next stands beside the bar")
			}
		})
	}
}

// A bar wider than the terminal would not be overwritten, but repeated.
func TestTerminalIsNarrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := show(&out, "ledgers", job(0, 10, 100, strings.Repeat("very ", 50)), func() int { return 60 }, false)
		time.Sleep(5 * time.Second)
		b.Close()
		for line := range strings.SplitSeq(out.String(), "\r") {
			if len([]rune(strings.TrimRight(line, " \n"))) > 60 {
				t.Errorf("%d columns: %q", len(line), line)
			}
		}
	})
}

func TestTerminalOfUnknownWidth(t *testing.T) {
	for _, c := range []struct {
		columns int
		err     error
		want    int
	}{{120, nil, 120}, {0, nil, 80}, {0, os.ErrInvalid, 80}} {
		if got := width(c.columns, c.err); got != c.want {
			t.Errorf("%d, %v: %d columns, want %d", c.columns, c.err, got, c.want)
		}
	}
}

func TestFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var done atomic.Int64
	b := Show(file, "units", func() State { return State{Done: done.Load(), Total: 4} })
	done.Store(3)
	b.Close()
	if text, err := os.ReadFile(file.Name()); err != nil || string(text) != "3 of 4 units (75.0%)\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A command that fails immediately prints its reason in one line, without progress.
func TestNothingOfWhatNeverBegan(t *testing.T) {
	for _, columns := range []func() int{nil, func() int { return 80 }} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			poll := job(3, 0, 10, "")
			show(&out, "units", poll, columns, false).Close()
			if out.Len() > 0 {
				t.Errorf("%q", &out)
			}
			b := show(&out, "units", poll, columns, false)
			time.Sleep(logEvery + redrawEvery)
			synctest.Wait()
			out.Reset()
			if b.Close(); !strings.HasSuffix(out.String(), "\n") {
				t.Errorf("after it was shown: %q", &out)
			}
		})
	}
}
