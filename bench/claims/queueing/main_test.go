package main

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

func TestCompare(t *testing.T) {
	queue := &record.Run{Spec: record.RunSpec{Variant: "ring", Rate: 12000}, Totals: record.Totals{OfferedPerS: 12000, Offered: 1000, Failed: 336,
		Response: record.Quantiles{P99: 10.5}, Server: &record.ServerTotals{Gauges: map[string]float64{gaugeRoom: 72, gaugeServers: 8, gaugeService: 1000}}}}
	unknown := &record.Run{Totals: record.Totals{Offered: 1, Server: &record.ServerTotals{}}}
	var b strings.Builder
	if err := compare(&b, &record.Experiment{Runs: []*record.Run{unknown, queue}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(strings.Split(b.String(), "\n")[1]), " "); got != "ring 12000 72 10.5 12.9 33.6% 33.3%" {
		t.Errorf("got %q", got)
	}
	if err := compare(&b, &record.Experiment{Runs: []*record.Run{unknown}}); err == nil {
		t.Error("a run without gauges was compared")
	}
}
