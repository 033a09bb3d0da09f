//go:build !linux

package ledger

import "time"

// delayed is not known here.
func delayed() time.Duration { return 0 }
