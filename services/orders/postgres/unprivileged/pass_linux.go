package unprivileged

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// passing are the capabilities with which a process may enter any folder, the one that allows less
// first. Containers often have the second only.
var passing = []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE}

// passed returns the first of passing that this process has.
func passed() (capability uintptr, ok bool) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0, false
	}
	for _, c := range passing {
		if data[0].Permitted&(1<<c) != 0 {
			return c, true
		}
	}
	return 0, false
}

// MayPass reports whether Pass can do its work.
func MayPass() bool {
	_, ok := passed()
	return ok
}

// Pass has an unprivileged process enter folders that are closed to it, such as one below /root,
// and keep that right when it executes PostgreSQL.
func Pass(to *syscall.SysProcAttr) {
	if c, ok := passed(); ok {
		to.AmbientCaps = []uintptr{c}
	}
}
