package host

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// Program is the executable of a process.
type Program struct {
	Name            string // empty: it cannot be read
	Module, Package string // main module and package; empty: Go did not build it
	Commit          string // commit in version control; empty: the build did not record it
	Modified        bool   // the build included uncommitted changes
	NotGo           bool   // it could be read, and Go did not build it
}

// ProgramOf reads the executable of a process and Go's build information in it.
func ProgramOf(pid int) (p Program) {
	exe := filepath.Join("/proc", strconv.Itoa(pid), "exe")
	if file, err := os.Readlink(exe); err == nil {
		p.Name = filepath.Base(strings.TrimSuffix(file, " (deleted)"))
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		p.NotGo = !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
		return p
	}
	p.Module, p.Package = info.Main.Path, info.Path
	p.Commit, p.Modified = Revision(info)
	return p
}

// Revision returns the commit that a build recorded, if it did, and whether it included uncommitted
// changes.
func Revision(info *debug.BuildInfo) (commit string, modified bool) {
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			commit = set.Value
		case "vcs.modified":
			modified = set.Value == "true"
		}
	}
	return commit, modified
}

// Command returns the kernel's name of a process, at most 15 bytes; empty: it cannot be read. The
// name distinguishes a forwarder (docker-proxy, kubectl, ssh) from the service behind it.
func Command(pid int) string {
	comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(comm), "\n")
}
