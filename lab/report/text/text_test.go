package text

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

// TestWidthOfTurns checks that the table of a ladder measured in turns fits a terminal of 100
// columns.
func TestWidthOfTurns(t *testing.T) {
	var b bytes.Buffer
	if err := Terminal(&b, reporttest.Turns(record.KindLadder).Report(), Style{}); err != nil {
		t.Fatal(err)
	}
	table := strings.Split(strings.Split(b.String(), "\n\n")[1], "\n")
	if len(table) != 8 {
		t.Fatalf("%d lines", len(table))
	}
	for _, line := range table {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestNarrowTerminalsKeepTheVerdict(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 120, 200} {
		var b bytes.Buffer
		if err := Terminal(&b, reporttest.Ladder().Report(), Style{Width: width, Color: true}); err != nil {
			t.Fatal(err)
		}
		plain := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(b.String(), "")
		table := strings.Split(strings.Split(plain, "\n\n")[1], "\n")
		for _, line := range table {
			if n := len([]rune(line)); width >= 60 && n > width {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(table[0], "verdict") || !strings.Contains(table[0], "capacity") {
			t.Errorf("at %d columns the table is %q", width, table[0])
		}
	}
}

func ExampleMarkdown() {
	var b bytes.Buffer
	_ = Markdown(&b, reporttest.Compare().Report())
	fmt.Println(strings.SplitN(b.String(), "\n", 4)[2])
	// Output: tuned is faster than baseline: capacity 1.40x [1.34, 1.47] over 6 pairs.
}

func TestRampsSayHowFarTheyWereFollowed(t *testing.T) {
	got := reporttest.Queues().Report().Sweep.Ramps
	if len(got) != 10 {
		t.Fatalf("%d ramps of 10 variants", len(got))
	}
	r := got[0]
	// 0.5 s of the ramp cover 125/s of its 1,500/s; just above the rate that is carried, 98% of
	// the requests still pass.
	if math.Abs(float64(r.Delivered)-1000) > 140 || math.Abs(float64(r.Accepted)-1100) > 140 || r.From != 200 || r.To != 1700 {
		t.Errorf("%+v; want delivered to follow up to 1,000/s and accepted up to 1,100/s", r)
	}
	if len(r.Moments) != 0 {
		t.Errorf("moments %v in a calm ramp", r.Moments)
	}
}
