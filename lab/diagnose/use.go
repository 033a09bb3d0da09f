package diagnose

import "math"

// Words for how much of something is used. They judge nothing: the rules have thresholds of their
// own.
const (
	idleBelow = 0.30
	fullFrom  = 0.90
)

// UseText says how much of something is used, as a share: idle, busy or full, with the number.
func UseText(share float64) string {
	share = math.Round(share*100) / 100 // as the number says
	word := "busy"
	switch {
	case share < idleBelow:
		word = "idle"
	case share >= fullFrom:
		word = "full"
	}
	return word + ", " + percent(math.Min(share, 1))
}
