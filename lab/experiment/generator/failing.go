package generator

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/record"
)

// ErrNoSuccess is the error of a load without any success: every request failed, or no session
// received a frame.
var ErrNoSuccess = errors.New("no request succeeded")

// NoSuccess explains that every request of a load failed, with the most frequent error and the
// first of the driver's notes, or that sessions which only receive received no frame. It is empty
// if there was a success, or if nothing was sent.
func NoSuccess(t record.Totals, notes []string) string {
	switch {
	case t.Generator.Failed != "":
		return ""
	case t.ReceiveOnly() && t.FramesPerS() == 0:
		said := fmt.Sprintf("no session received a frame: %d of %d opened, %d were lost", t.Sessions.Opened, t.Sessions.Planned, t.Sessions.Lost)
		return strings.Join(append([]string{said}, notes[:min(len(notes), 1)]...), "; ")
	case t.Offered == 0 || t.Ended > t.Failed:
		return ""
	}
	said := ErrNoSuccess.Error() + TopError(t)
	if t.Ended == 0 {
		said = ErrNoSuccess.Error() + fmt.Sprintf(": none of %d was answered in time", t.Offered)
	}
	if len(notes) > 0 {
		if _, first, ok := strings.Cut(notes[0], ", the first: "); ok { // the form in which load.Notes writes a note
			return said + "; the first: " + first
		}
		said += "; " + notes[0]
	}
	return said
}

// Failing returns the error for a load's NoSuccess text. It matches ErrNoSuccess.
func Failing(noSuccess string) error { return failing(noSuccess) }

type failing string

func (f failing) Error() string { return string(f) }

func (f failing) Is(target error) bool { return target == ErrNoSuccess }

// TopError describes the most frequent error of a load, after a colon. It is empty if there was
// no error.
func TopError(t record.Totals) string {
	name, most := commonest(t.Errors)
	if most == 0 {
		return ""
	}
	name = strconv.Quote(name)
	if status, n := commonest(t.Status); name == `"status"` && n > 0 {
		code, _ := strconv.Atoi(status)
		name = strings.TrimSpace("status " + status + " " + http.StatusText(code))
		if code == http.StatusNotFound {
			name += " (is the path of the requests right?)"
		}
	}
	return fmt.Sprintf(": %d of %d ended with %s", most, t.Offered, name)
}

// commonest returns the key with the highest count; if several have it, the first by name.
func commonest(counts map[string]int64) (key string, most int64) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[k]; n > most {
			key, most = k, n
		}
	}
	return key, most
}
