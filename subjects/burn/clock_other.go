//go:build !linux

package main

import "time"

var started = time.Now()

// threadCPU falls back to elapsed time. The fastest batch is one without interruption, and there
// the two are equal.
func threadCPU() time.Duration { return time.Since(started) }
