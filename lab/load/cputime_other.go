//go:build !unix

package load

import "time"

// processCPU is not available here; 0 shows as no CPU used.
func processCPU() time.Duration { return 0 }
