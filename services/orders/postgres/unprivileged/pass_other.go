//go:build !linux

package unprivileged

import "syscall"

// MayPass says no: only Linux has capabilities.
func MayPass() bool { return false }

// Pass does nothing.
func Pass(*syscall.SysProcAttr) {}
