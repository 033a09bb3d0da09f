//go:build !unix

package load

import "time"

// processCPU is not known here; 0 shows as no CPU used.
func processCPU() time.Duration { return 0 }
