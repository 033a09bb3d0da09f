package core

import (
	"testing"

	"dyno/services/notify/notifytest"
)

// guards holds that no webhook reaches a private address: an address is refused immediately, and a
// name when it has been resolved.
func guards(t *testing.T, start notifytest.Start) { notifytest.Guarded(t, start) }
