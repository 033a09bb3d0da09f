//go:build !unix

package lameduck

import "syscall"

func readable(syscall.Conn) bool { return false }
