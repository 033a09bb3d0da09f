//go:build !unix

package cputime

import "time"

// OfProcess is not available here; 0 shows as no CPU used.
func OfProcess() time.Duration { return 0 }
