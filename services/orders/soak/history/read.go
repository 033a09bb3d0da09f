package history

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// Reader is one client whose requests come one after the other, or several at once: what was answered before a
// read began is what that read may not fall behind.
type Reader struct {
	h    *History
	name string
	seen map[int64]int64 // by uid, the highest version
}

// Reader returns a new one; its name is for the stories.
func (h *History) Reader(name string) *Reader {
	return &Reader{h: h, name: name, seen: map[int64]int64{}}
}

// Seen returns the highest version that the reader has seen of an order; 0: none.
func (r *Reader) Seen(uid int64) int64 { return r.seen[uid] }

// Ask is one question about one order.
type Ask struct {
	UID        int64
	Account    string // who asks
	MinVersion int64  // 0: not sent
	Known      int64  // the version of If-None-Match; 0: not sent
	Stale      bool   // an answer marked stale will do
}

// Answer is what came back.
type Answer struct {
	Status int
	Row    Row // of 200
	ETag   string
	Marked bool // by Warning: 110
	Since  bool // by stale_since
	Body   []byte
}

// Read is a read that has begun.
type Read struct {
	Ask
	row     *row // nil: nobody knew of the order when it began
	floor   int64
	ackedAt time.Duration
	seen    int64
	began   time.Duration
}

// Begin begins a read, before anything of it is sent.
func (r *Reader) Begin(a Ask) Read {
	read := Read{Ask: a, row: r.h.row(a.UID), seen: r.seen[a.UID], began: r.h.Now()}
	if read.row != nil {
		read.floor, read.ackedAt = read.row.floor()
	}
	return read
}

// Endless reports whether the order is known, and one of those that are changed for ever.
func (r *Read) Endless() bool { return r.row != nil && r.row.key.Endless() }

// End judges a read after all of its answer has come. It reports whether the gateway answered at all: a 503 says
// that it cannot.
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
			v.tell(a)
		}
	})
	return true
}

func (v *Verdict) tell(a *Answer) {
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

// judge returns what is wrong; "": nothing.
func (r *Reader) judge(read *Read, a *Answer) (Kind, string) {
	mine := read.row != nil && read.row.account == read.Account
	switch {
	case a.Status == http.StatusOK:
		return r.judgeRow(read, a)
	case a.Status == http.StatusNotModified && read.Known > 0 && mine:
		return r.judgeVersion(read, read.Known)
	case !mine && (a.Status == http.StatusNotModified && read.Known > 0 || a.Status == http.StatusConflict && read.MinVersion > 0):
		return Foreign, "gives away that it is there"
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
		return "", "" // also of an order that nobody knew of when the read began
	}
	return Unexpected, fmt.Sprintf("is answered with status %d", a.Status)
}

// judgeAbsence holds that all answers which deny an order are the same: a difference would tell of it.
func (h *History) judgeAbsence(body []byte) (Kind, string) {
	h.telling.Lock()
	defer h.telling.Unlock()
	if h.absent == nil {
		h.absent = append([]byte{}, body...)
	}
	if !bytes.Equal(h.absent, body) {
		return Foreign, fmt.Sprintf("is denied in other words than the first that was, %.200q", h.absent)
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
		return Unasked, "is marked stale by half"
	case a.Marked && !read.Stale:
		return Unasked, "is marked stale"
	}
	if kind, why := r.h.judgeContent(row); kind != "" {
		return kind, why
	}
	if a.Marked {
		return "", "" // older, and says so
	}
	return r.judgeVersion(read, row.Version)
}

// judgeContent holds that a row which was returned just now is one that somebody began to commit, in all fields.
func (h *History) judgeContent(row *Row) (Kind, string) {
	known, submitted := h.find(row)
	switch {
	case known == nil && submitted == nil:
		return Unwritten, "is an order that nobody made"
	case known == nil:
		return submitted.judgeContent(row)
	case known.account != row.Account:
		return Foreign, "is an order of " + known.account
	case row.holds(known.key.Ghost(row.Version)):
		return Unwritten, "is in a state that was rolled back"
	case !row.holds(known.key.Derive(row.Version)):
		return Torn, fmt.Sprintf("does not hold what version %d does, %+v", row.Version, known.key.Derive(row.Version))
	}
	if begun := known.ceiling(); row.Version > begun {
		return Unwritten, fmt.Sprintf("has a version that nobody has begun to commit; the last is %d", begun)
	}
	if !known.date(row.Version, row.Updated) {
		return Torn, "has another updated_at than others were told of that version"
	}
	return "", ""
}

// judgeVersion holds a version that was told for the present one to what the reader may not fall behind.
func (r *Reader) judgeVersion(read *Read, version int64) (Kind, string) {
	switch {
	case version < read.floor:
		return Stale, fmt.Sprintf("has version %d; %d was acknowledged %v before", version, read.floor, read.began-read.ackedAt)
	case version < read.MinVersion:
		return Stale, fmt.Sprintf("has version %d although %d was asked for", version, read.MinVersion)
	case version < read.seen:
		return Backwards, fmt.Sprintf("has version %d; the reader had seen %d", version, read.seen)
	}
	if version > r.seen[read.UID] {
		r.seen[read.UID] = version
	}
	return "", ""
}

func (r *Reader) story(read *Read) string {
	owner := "nobody's"
	if read.row != nil {
		owner = read.row.account + "'s"
	}
	return fmt.Sprintf("%s asks as %s at %v for order %d (%s), which after %v", r.name, read.Account, read.began, read.UID, owner, r.h.Now()-read.began)
}

func (a *Answer) story() string { return fmt.Sprintf("status %d: %.300s", a.Status, a.Body) }
