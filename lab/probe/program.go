package probe

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Program returns the name of a process's executable and, if Go built it, its main module. Both
// are empty if they cannot be read; notGo is true only if the executable could be read and Go did
// not build it.
func Program(pid int) (name, module string, notGo bool) {
	exe := filepath.Join("/proc", strconv.Itoa(pid), "exe")
	if file, err := os.Readlink(exe); err == nil {
		name = filepath.Base(strings.TrimSuffix(file, " (deleted)"))
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return name, "", !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
	}
	return name, info.Main.Path, false
}
