package host

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryLimit is the soft limit of memory that a Go process started with, in bytes: GOMEMLIMIT in
// its environment, of which nothing else is kept; 0: none, or it cannot be read.
func MemoryLimit(pid int) int64 {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return 0
	}
	defer f.Close()
	const most = 1 << 20 // bytes: the kernel's own limit is of that order
	all, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return 0
	}
	return memoryLimitIn(all)
}

// memoryLimitIn reads GOMEMLIMIT in an environment, as the runtime does: the first counts.
func memoryLimitIn(environ []byte) int64 {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if value, is := bytes.CutPrefix(v, []byte("GOMEMLIMIT=")); is {
			return parseMemoryLimit(string(value))
		}
	}
	return 0
}

// parseMemoryLimit reads a number of bytes with a unit: 512MiB; 0: off, or it is not one.
func parseMemoryLimit(text string) int64 {
	unit := int64(1)
	if strings.HasSuffix(text, "B") {
		text = strings.TrimSuffix(text, "B")
		for i, prefix := range []string{"Ki", "Mi", "Gi", "Ti"} {
			if number, is := strings.CutSuffix(text, prefix); is {
				text, unit = number, int64(1)<<(10*(i+1))
				break
			}
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0
	}
	if n *= unit; n == math.MaxInt64 {
		return 0
	}
	return n
}
