//go:build !linux

package main

import "time"

var started = time.Now()

// threadCPU falls back to elapsed time. The fastest batch is one that nothing interrupted, and there the
// two are the same.
func threadCPU() time.Duration { return time.Since(started) }
