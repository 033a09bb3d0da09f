package capacity

import (
	"fmt"

	"dyno/lab/record"
)

// Binds is the share of the time from which on a limit is what bounds a job.
const Binds = 0.5

// LimitWords say what bounds a job; empty: it said nothing.
func LimitWords(limits []record.Limit) string {
	switch {
	case len(limits) == 0:
		return ""
	case limits[0].Share < Binds:
		return fmt.Sprintf("nothing it knows of (%s %.0f%%)", limits[0], limits[0].Share*100)
	}
	return fmt.Sprintf("%s (%.0f%%)", limits[0], limits[0].Share*100)
}
