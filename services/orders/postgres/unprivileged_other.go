//go:build !linux

package postgres

import "syscall"

// mayPassFolders says no: only Linux has capabilities.
func mayPassFolders() bool { return false }

// passFolders does nothing.
func passFolders(*syscall.SysProcAttr) {}
