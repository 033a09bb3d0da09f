package live

import (
	"errors"
	"strconv"
	"strings"
)

// position says how much of an experiment a client was told: it is the ID of an event, which the client
// sends back when it comes again.
type position struct {
	Told   int    // finished runs
	Run    string // the run under way; empty: none
	Offset int64  // bytes of its series
}

// String writes "TOLD/OFFSET/RUN".
func (p position) String() string {
	return strconv.Itoa(p.Told) + "/" + strconv.FormatInt(p.Offset, 10) + "/" + p.Run
}

var errPosition = errors.New("not of the form TOLD/OFFSET/RUN")

// maxPosition bounds what is read of a client's position, in bytes; a file's name has at most 255.
const maxPosition = 512

// parsePosition reads what String wrote.
func parsePosition(s string) (position, error) {
	parts := strings.SplitN(s, "/", 3)
	if len(s) > maxPosition || len(parts) != 3 {
		return position{}, errPosition
	}
	told, err1 := strconv.ParseUint(parts[0], 10, 31)
	offset, err2 := strconv.ParseUint(parts[1], 10, 63)
	if err1 != nil || err2 != nil || strings.ContainsFunc(parts[2], func(c rune) bool { return c < ' ' || c == '/' || c == 0x7f }) {
		return position{}, errPosition
	}
	return position{Told: int(told), Offset: int64(offset), Run: parts[2]}, nil
}
