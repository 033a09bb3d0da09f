//go:build !linux

package soak

import "syscall"

// attributes: elsewhere a process that this program leaves behind, when it is killed, goes on.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
