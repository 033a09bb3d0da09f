package turns

import (
	"fmt"
	"time"

	"dyno/lab/scenario"
)

// usedUp is a seat whose requests do not last for its next slice.
type usedUp struct{ seat *seat }

func (u *usedUp) Error() string { return u.seat.place.String() + " has no requests left" }

// renew ends a generation whose rows are used up after some blocks: the next one has fresh
// processes and begins with the first row. Without one whole block no generation would ever have
// one.
func (t *turns) renew(u *usedUp, blocks int, after time.Duration) error {
	why := u.seat.requests.UsedUp(after, leastGeneration)
	if blocks == 0 {
		return &scenario.Fault{Err: fmt.Errorf("load.once: %s", why)}
	}
	if blocks < leastBlocks && !t.short {
		t.short = true
		t.warn(fmt.Sprintf("%s for processes to take part in more than %d rounds of turns; fewer than %d give no sample", why, blocks, leastBlocks))
	}
	return nil
}
