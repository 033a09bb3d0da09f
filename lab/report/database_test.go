package report_test

import (
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

// A variant's row is read at its capacity; one that was only driven over it is read there.
func TestDatabaseOfEachVariant(t *testing.T) {
	m := reporttest.New(record.KindLadder, "p99=60ms")
	for _, name := range []string{"none", "plain", "tuned", "broken"} {
		m.AddVariant(name, "", "", 3000)
	}
	reporttest.AddGauges(m.AddRun(record.RoleSearch, "plain", 0, 2000), reporttest.Poor)
	reporttest.AddGauges(m.AddRun(record.RoleMeasure, "plain", 1, 2500), reporttest.Good)
	reporttest.AddGauges(m.AddRun(record.RoleMeasure, "plain", 1, 3500), reporttest.Poor) // missed the SLO
	reporttest.AddGauges(m.AddRun(record.RoleSearch, "tuned", 0, 3500), reporttest.Poor)
	m.AddRun(record.RoleMeasure, "none", 1, 2500)
	broken := m.AddRun(record.RoleMeasure, "broken", 1, 2500)
	reporttest.AddGauges(broken, reporttest.Poor)
	broken.Invalid = "it broke"
	var got []string
	for _, d := range m.Report().Databases {
		got = append(got, d.Variant+" "+d.Name+" "+d.Run)
	}
	if want := "plain reads plain, measure, round 1, 2,500/s|tuned db tuned, search, 3,500/s"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}
