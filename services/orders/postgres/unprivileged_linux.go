package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// passCapabilities are the capabilities with which a process may enter any folder, the one that
// allows less first. Containers often have the second only.
var passCapabilities = []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE}

// passCapability returns the first of passing that this process has.
func passCapability() (capability uintptr, ok bool) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0, false
	}
	for _, c := range passCapabilities {
		if data[0].Permitted&(1<<c) != 0 {
			return c, true
		}
	}
	return 0, false
}

// mayPassFolders reports whether passFolders can do its work.
func mayPassFolders() bool {
	_, ok := passCapability()
	return ok
}

// passFolders has an unprivileged process enter folders that are closed to it, such as one below
// /root, and keep that right when it executes PostgreSQL.
func passFolders(to *syscall.SysProcAttr) {
	if c, ok := passCapability(); ok {
		to.AmbientCaps = []uintptr{c}
	}
}
