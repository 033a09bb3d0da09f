package turns

import (
	"fmt"
	"time"

	"dyno/lab/scenario"
)

// usedUp is the error of an instance that has too few requests left for its next slice.
type usedUp struct{ instance *instance }

func (u *usedUp) Error() string { return u.instance.arm.String() + " has no requests left" }

// renew ends the rounds of processes whose rows are used up: fresh processes begin with the first
// row again. If the rows did not last for a single round, new processes would not help, so that
// is an error.
func (t *turns) renew(u *usedUp, rounds int, after time.Duration) error {
	why := u.instance.requests.UsedUp(after, leastLength)
	if rounds == 0 {
		return &scenario.Fault{Err: fmt.Errorf("load.once: %s", why)}
	}
	if rounds < leastRounds && !t.short {
		t.short = true
		t.warn(fmt.Sprintf("%s for processes to take part in more than %d rounds of turns; fewer than %d give no sample", why, rounds, leastRounds))
	}
	return nil
}
