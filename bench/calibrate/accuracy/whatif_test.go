package accuracy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dyno/bench/calibrate/calibration"
	"dyno/bench/stored"
	"dyno/lab/diagnose/whatif"
)

var changes = []calibration.Prediction{
	{Step: "reuse", Change: "connections are kept", Bound: "the CPU", Removes: whatif.Removal{CPU: 0.25}, Estimate: whatif.Estimate{Model: whatif.Amdahl, AtMost: 4.0 / 3, CPU: 0.75},
		Work: calibration.Ratio{Times: 1.28, Low: 1.2, High: 1.36}, CPU: calibration.Ratio{Times: 0.8}},
	{Step: "sharded", Change: "sixteen locks", Bound: "a lock", Estimate: whatif.Estimate{Model: whatif.Holder, AtMost: 3, CPU: 1}, Share: 0.4,
		Work: calibration.Ratio{Times: 1.1, Low: 1.05, High: 1.15}},
	{Step: "raised", Change: "GOMAXPROCS", Bound: "the CPU", Estimate: whatif.Estimate{Model: whatif.Amdahl, AtMost: 1, CPU: 1}, Work: calibration.Ratio{Times: 2, Low: 1.9, High: 2.1}},
	{Step: "another", Change: "another program", Estimate: whatif.Estimate{Model: whatif.None, Missing: "code in common"}, Work: calibration.Ratio{Times: 2}},
	{Step: "merged", Change: "one list", Bound: "a lock", Removes: whatif.Removal{CPU: 0.2}, Estimate: whatif.Estimate{Model: whatif.Holder, AtMost: 1.8}, WithNew: whatif.Estimate{AtMost: 1.1},
		CPUDiff: calibration.Difference{New: 12, NewIn: "main.merge"}, Work: calibration.Ratio{Times: 1.05, Low: 1, High: 1.1}},
	{Step: "beside", Bound: "a lock", Estimate: whatif.Estimate{Model: whatif.Holder, AtMost: 1.8}, Work: calibration.Ratio{Times: 1.05, Low: 0.5, High: 2.1}},
}

func TestWhatIf(t *testing.T) {
	var out bytes.Buffer
	WhatIf(&out, changes)
	for _, part := range []string{"reuse    the CPU       25%          1.33x    -         1.28x     [1.20, 1.36]  0.75x         0.80x", "held (+4%)", "loose (+173%)", "exceeded (-50%)",
		"sharded (sixteen locks): it got 0.40x the CPU that it got before, beside the other processes: with that at most 1.20x.\n",
		"merged   a lock        20%          1.80x    1.10x     1.05x", "held with new (+5%)", "merged (one list): its new code takes 12 us of CPU per request, most of it in main.merge: with it at most 1.10x.\n",
		"raised (GOMAXPROCS): not explained by the record.\n", "another (another program): no estimate, since this is missing: code in common.\n",
		"beside: not decided, since", "6 changes: 1 held, 1 held with new, 1 loose, 1 exceeded, 1 not decided, 1 without an estimate or a measured ratio\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}

func TestWhatIfJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WhatIfJSON(&out, changes, stored.Made{Commit: "0123abcd"}); err != nil {
		t.Fatal(err)
	}
	var got WhatIfObject
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Schema != "dyno.what-if/1" || len(got.Steps) != 6 || got.Made.Commit != "0123abcd" {
		t.Fatalf("%v %+v", err, got)
	}
	if c := got.Steps[2]; c.Mark != calibration.Exceeded || c.Off != -0.5 || c.AtMost != 1 || *c.Between != [2]float64{1.9, 2.1} || c.CPUBetween != nil {
		t.Errorf("%+v", c)
	}
}
