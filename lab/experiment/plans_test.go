package experiment

import (
	"errors"
	"strings"
	"testing"

	"dyno/lab/record"
)

// A search that found no capacity gives no verdict, and says which way it failed.
func TestNoCapacity(t *testing.T) {
	slo := record.SLO{Latency: map[string]float64{"p99": 20}}
	for found, want := range map[float64]string{0: "loosen it", 800: "above what was offered"} {
		err := noCapacity("tuned", slo, found, []string{"because"})
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "because") {
			t.Errorf("found %g: %v", found, err)
		}
	}
}
