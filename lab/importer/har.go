package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// staticTypes lists the resource types that are files of a page.
var staticTypes = []string{"image", "stylesheet", "script", "font", "media", "manifest"}

// readHAR reads the requests of a HAR file (HTTP Archive 1.2), as browsers and proxies export it,
// also within a zip. The requests are a flow if a later request contains a value of an earlier
// answer, such as a token. open reads the files next to it, which hold bodies.
//
// Programs write fields in other forms than those of the specification. readHAR reads what it can,
// and leaves out only the entries that cannot be sent as they were.
func readHAR(text []byte, open Opener) (*Load, error) {
	if isZip(text) {
		var err error
		if text, open, err = unzip(text); err != nil {
			return nil, err
		}
	}
	load, f := &Load{}, newFollower()
	entries, err := entriesOf(text, load)
	if err != nil {
		return nil, err
	}
	timeless := orderEntries(entries)
	for i := range entries {
		e := &entries[i]
		left := len(load.Left)
		addEntry(load, e, open)
		for n := left; n < len(load.Left); n++ {
			load.Left[n].Line = e.line
			load.Left[n].What = fmt.Sprintf("entry %d: %s", e.number, load.Left[n].What)
		}
		if len(load.Requests) > f.seen {
			f.follow(load, e, open)
		}
	}
	if len(timeless) > 0 {
		load.Note("the time of entry %s cannot be read: the order of the file holds, and there is no pause", numberList(timeless))
	}
	load.Flows = f.passed
	return load, nil
}

// numberList lists numbers, at most a few.
func numberList(numbers []int) string {
	const most = 8
	var out []string
	for _, n := range numbers[:min(len(numbers), most)] {
		out = append(out, strconv.Itoa(n))
	}
	if more := len(numbers) - most; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// orderEntries sorts entries by their time, and returns the numbers of those whose time cannot be
// read: these stay after the entry that precedes them in the file. A time without a zone is taken
// to be in the zone of the first time that has one.
func orderEntries(entries []harEntry) (timeless []int) {
	zone := time.UTC
	for i := range entries {
		if at, zoned, ok := moment(string(entries[i].Started)); ok && zoned {
			zone = at.Location()
			break
		}
	}
	var last time.Time
	for i := range entries {
		e := &entries[i]
		at, zoned, ok := moment(string(e.Started))
		if ok && !zoned {
			at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), zone)
		}
		if !ok {
			if e.sorted = last; e.Started != "" {
				timeless = append(timeless, e.number)
			}
			continue
		}
		e.at, e.sorted, last = at, at, at
	}
	for i := len(entries) - 2; i >= 0; i-- { // the first ones have nothing before them
		if entries[i].sorted.IsZero() {
			entries[i].sorted = entries[i+1].sorted
		}
	}
	slices.SortStableFunc(entries, func(a, b harEntry) int { return a.sorted.Compare(b.sorted) })
	return timeless
}

// addEntry adds the request of an entry to the load, or an omission with the reason.
func addEntry(load *Load, e *harEntry, open Opener) {
	r := Request{Line: e.line, Method: strings.ToUpper(string(e.Request.Method)), URL: e.address(), Exact: true, Static: slices.Contains(staticTypes, string(e.ResourceType))}
	what := r.Method + " " + Address(r.URL)
	switch {
	case e.broken != "":
		load.Leave(0, "a request", "%s", e.broken)
		return
	case r.Method == "" || r.URL == "":
		load.Leave(0, "a request", "it has no method or no URL")
		return
	case r.Method == "OPTIONS" && e.Request.Headers.get("Access-Control-Request-Method") != "":
		load.Leave(0, what, "browsers send it ahead of another site's request (CORS)")
		return
	case e.ResourceType == "websocket" || e.Response.Status == 101:
		load.Leave(0, what, "it opens a WebSocket; see load: {kind: sessions}")
		return
	}
	for _, f := range e.Request.Headers {
		if strings.HasPrefix(f.Name, ":") { // of HTTP/2: method, path and so on
			continue
		}
		if !f.Valid() {
			load.Leave(0, what+": a header field", "it is no valid header field")
			continue
		}
		r.Header = append(r.Header, f)
	}
	if cookies := e.cookies(); cookies != "" {
		r.Default("Cookie", cookies)
	}
	if err := e.body(load, &r, open); err != nil {
		load.Leave(0, what, "%v", err)
		return
	}
	load.Add(r)
}

// lostBytes is the error for a body that the file does not have.
func lostBytes(bytes int) error {
	return fmt.Errorf("the recorder kept no body, and it had %d bytes", bytes)
}

var errNoBody = errors.New("it seems to have had a body, which the recorder did not keep: it has a Content-Type, or is chunked")

// declared is the size of the body that the request had, in bytes; -1: the file does not say.
func (e *harEntry) declared() int {
	if n, err := strconv.Atoi(strings.TrimSpace(e.Request.Headers.get("Content-Length"))); err == nil {
		return n
	}
	if e.Request.BodySize == nil {
		return -1
	}
	return int(*e.Request.BodySize)
}
