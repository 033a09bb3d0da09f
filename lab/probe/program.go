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

// Program says what a process runs: the name of its executable, and its main module where Go built it. Both are
// empty where they cannot be read; notGo is only true where the executable could be, and Go did not build it.
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
