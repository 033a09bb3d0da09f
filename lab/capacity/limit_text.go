package capacity

import (
	"fmt"

	"dyno/lab/record"
)

// Binds is the share of the time above which a limit bounds a job.
const Binds = 0.5

// LimitText names the limit that bounds a job; empty when the job reported none.
func LimitText(all []record.WaitLimit) string {
	switch {
	case len(all) == 0:
		return ""
	case all[0].Share < Binds:
		return fmt.Sprintf("none of the limits it reports (highest: %s %.0f%%)", all[0], all[0].Share*100)
	}
	return fmt.Sprintf("%s (%.0f%%)", all[0], all[0].Share*100)
}
