package ledger

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// delayed is the time that the process's threads were ready to run without a processor, summed over
// them. Threads that have ended do not count; the Go runtime seldom ends one.
func delayed() (sum time.Duration) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is valid
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // else the thread has just ended
			sum += waited(string(text))
		}
	}
	return sum
}

// waited reads the second of a schedstat's three figures, in ns; 0 if there is none.
func waited(schedstat string) time.Duration {
	figures := strings.Fields(schedstat)
	if len(figures) < 2 {
		return 0
	}
	ns, err := strconv.ParseUint(figures[1], 10, 63)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}
