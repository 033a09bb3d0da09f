package history

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// Reader is one client, whose requests may be sequential or overlap: a read must not return an
// older version than one that the reader received before the read began.
type Reader struct {
	h    *History
	name string
	seen map[int64]int64 // highest version by uid
}

// Reader returns a new reader; the name is for the stories.
func (h *History) Reader(name string) *Reader {
	return &Reader{h: h, name: name, seen: map[int64]int64{}}
}

// Seen returns the highest version of an order that the reader has received; 0 means none.
func (r *Reader) Seen(uid int64) int64 { return r.seen[uid] }

// Ask is a request for one order.
type Ask struct {
	UID        int64
	Account    string // of the caller
	MinVersion int64  // 0 means not sent
	Known      int64  // version in If-None-Match; 0 means not sent
	Stale      bool   // an answer marked stale is accepted
}

// Answer is a response.
type Answer struct {
	Status int
	Row    Row // if the status is 200
	ETag   string
	Marked bool // by Warning: 110
	Since  bool // by stale_since
	Body   []byte
}

// Read is a read in progress.
type Read struct {
	Ask
	row     *row // nil: the order was not known when the read began
	floor   int64
	ackedAt time.Duration
	seen    int64
	began   time.Duration
}

// Begin begins a read, before the request is sent.
func (r *Reader) Begin(a Ask) Read {
	read := Read{Ask: a, row: r.h.row(a.UID), seen: r.seen[a.UID], began: r.h.Now()}
	if read.row != nil {
		read.floor, read.ackedAt = read.row.floor()
	}
	return read
}

// Endless reports whether the order is known, and changes for ever.
func (r *Read) Endless() bool { return r.row != nil && r.row.key.Endless() }

// End judges a read after its whole answer has arrived. It reports whether the gateway answered: a
// 503 means that it could not.
func (r *Reader) End(read *Read, a *Answer) bool {
	if a.Status == http.StatusServiceUnavailable {
		r.h.Unavailable()
		return false
	}
	kind, why := r.judge(read, a)
	if kind != "" {
		r.h.Break(kind, "%s, %s; %s", r.story(read), why, a.story())
	}
	r.h.count(func(v *Verdict) {
		v.Reads++
		if kind == "" {
			v.count(a)
		}
	})
	return true
}

func (v *Verdict) count(a *Answer) {
	switch a.Status {
	case http.StatusOK:
		v.Found++
		if a.Marked {
			v.MarkedStale++
		}
	case http.StatusNotModified:
		v.Unchanged++
	case http.StatusConflict:
		v.Behind++
	case http.StatusForbidden:
		v.Refused++
	case http.StatusNotFound:
		v.Absent++
	}
}

// judge returns the violation; "" means none.
func (r *Reader) judge(read *Read, a *Answer) (Kind, string) {
	mine := read.row != nil && read.row.account == read.Account
	switch {
	case a.Status == http.StatusOK:
		return r.judgeRow(read, a)
	case a.Status == http.StatusNotModified && read.Known > 0 && mine:
		return r.judgeVersion(read, read.Known)
	case !mine && (a.Status == http.StatusNotModified && read.Known > 0 || a.Status == http.StatusConflict && read.MinVersion > 0):
		return Foreign, "reveals that the order exists"
	case a.Status == http.StatusConflict && read.MinVersion > 0 && mine:
		if read.MinVersion <= read.floor {
			return Stale, fmt.Sprintf("is said not to have version %d yet", read.MinVersion)
		}
		return "", ""
	case a.Status == http.StatusNotFound && mine:
		return Missing, "is not there"
	case a.Status == http.StatusNotFound && (read.row == nil || r.h.Foreign == http.StatusNotFound):
		return r.h.judgeAbsence(a.Body)
	case a.Status == http.StatusForbidden && r.h.Foreign == http.StatusForbidden && !mine:
		return "", "" // also for an order that was not known when the read began
	}
	return Unexpected, fmt.Sprintf("is answered with status %d", a.Status)
}

// judgeAbsence checks that all answers which deny an order are identical: a difference would reveal
// that it exists.
func (h *History) judgeAbsence(body []byte) (Kind, string) {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	if h.absent == nil {
		h.absent = append([]byte{}, body...)
	}
	if !bytes.Equal(h.absent, body) {
		return Foreign, fmt.Sprintf("is denied with another body than the first one, %.200q", h.absent)
	}
	return "", ""
}

func (r *Reader) judgeRow(read *Read, a *Answer) (Kind, string) {
	row := &a.Row
	switch {
	case row.UID != read.UID:
		return Foreign, fmt.Sprintf("is answered with order %d", row.UID)
	case row.Account != read.Account:
		return Foreign, "is answered with the order of " + row.Account
	case !a.Marked && a.ETag != fmt.Sprintf("\"%d-%d\"", row.UID, row.Version):
		return Torn, "has the ETag " + a.ETag
	case a.Marked != a.Since:
		return Unasked, "is only half marked as stale"
	case a.Marked && !read.Stale:
		return Unasked, "is marked stale"
	}
	if kind, why := r.h.judgeContent(row); kind != "" {
		return kind, why
	}
	if a.Marked {
		return "", "" // older, and marked as such
	}
	return r.judgeVersion(read, row.Version)
}

// judgeContent checks that all fields of a returned row are those of a version whose commit was
// begun.
func (h *History) judgeContent(row *Row) (Kind, string) {
	known, submitted := h.find(row)
	switch {
	case known == nil && submitted == nil:
		return Unwritten, "is an order that was never submitted"
	case known == nil:
		return submitted.judgeContent(row)
	case known.account != row.Account:
		return Foreign, "is an order of " + known.account
	case row.holds(known.key.Ghost(row.Version)):
		return Unwritten, "is in a state that was rolled back"
	case !row.holds(known.key.Derive(row.Version)):
		return Torn, fmt.Sprintf("does not have the contents of version %d, %+v", row.Version, known.key.Derive(row.Version))
	}
	if begun := known.ceiling(); row.Version > begun {
		return Unwritten, fmt.Sprintf("has a version whose commit was never begun; the last is %d", begun)
	}
	if !known.date(row.Version, row.Updated) {
		return Torn, "has another updated_at than other answers with that version"
	}
	return "", ""
}

// judgeVersion checks that a returned version is not older than the floor and what the reader has
// received.
func (r *Reader) judgeVersion(read *Read, version int64) (Kind, string) {
	switch {
	case version < read.floor:
		return Stale, fmt.Sprintf("has version %d; %d was acknowledged %v before", version, read.floor, read.began-read.ackedAt)
	case version < read.MinVersion:
		return Stale, fmt.Sprintf("has version %d although %d was requested", version, read.MinVersion)
	case version < read.seen:
		return Backwards, fmt.Sprintf("has version %d; the reader had seen %d", version, read.seen)
	}
	if version > r.seen[read.UID] {
		r.seen[read.UID] = version
	}
	return "", ""
}

func (r *Reader) story(read *Read) string {
	owner := "no account"
	if read.row != nil {
		owner = read.row.account + "'s"
	}
	return fmt.Sprintf("%s asks as %s at %v for order %d (%s), which after %v", r.name, read.Account, read.began, read.UID, owner, r.h.Now()-read.began)
}

func (a *Answer) story() string { return fmt.Sprintf("status %d: %.300s", a.Status, a.Body) }
