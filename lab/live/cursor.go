package live

import (
	"errors"
	"strconv"
	"strings"
)

// position is how much of an experiment a client has received: it is the ID of an event, which the
// client sends when it reconnects.
type position struct {
	Reported int    // finished runs
	Run      string // the run in progress; empty: none
	Offset   int64  // bytes of its series
}

// String writes "REPORTED/OFFSET/RUN".
func (p position) String() string {
	return strconv.Itoa(p.Reported) + "/" + strconv.FormatInt(p.Offset, 10) + "/" + p.Run
}

var errPosition = errors.New("not of the form REPORTED/OFFSET/RUN")

// maxPosition bounds a client's position, in bytes; a file's name has at most 255.
const maxPosition = 512

// parsePosition reads the result of String.
func parsePosition(s string) (position, error) {
	parts := strings.SplitN(s, "/", 3)
	if len(s) > maxPosition || len(parts) != 3 {
		return position{}, errPosition
	}
	reported, err1 := strconv.ParseUint(parts[0], 10, 31)
	offset, err2 := strconv.ParseUint(parts[1], 10, 63)
	if err1 != nil || err2 != nil || strings.ContainsFunc(parts[2], func(c rune) bool { return c < ' ' || c == '/' || c == 0x7f }) {
		return position{}, errPosition
	}
	return position{Reported: int(reported), Offset: int64(offset), Run: parts[2]}, nil
}
