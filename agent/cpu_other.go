//go:build !unix

package agent

// ProcessCPU is not available on this system: 0 means that the figure is missing.
func ProcessCPU() (total, system float64) { return 0, 0 }
