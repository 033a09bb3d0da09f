package push

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"dyno/parts/refusal"
	"dyno/services/notify/topic"
)

// retryAfter is the Retry-After of clients beyond MaxStreams: streams are long, so places become
// free slowly.
const retryAfter = "10" // seconds

// answer writes a refusal.
func answer(w http.ResponseWriter, r *refusal.Error) {
	w.Header().Set("Content-Type", "application/json")
	if r.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(r.Status)
	json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
		Field string `json:"field,omitempty"`
	}{r.Text, r.Field})
}

// admit finds out where a stream begins and takes a place for it, which the caller gives back with
// leave. When it returns nil it has answered.
func (s *Streams) admit(w http.ResponseWriter, r *http.Request) *position {
	refuse := func(no *refusal.Error) *position {
		answer(w, no)
		return nil
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		return refuse(refusal.New(http.StatusMethodNotAllowed, "a stream is asked for with GET"))
	}
	first, next := s.source.Bounds()
	at, no := parse(r.URL.RawQuery, r.Header.Get("Last-Event-ID"), first, next)
	if no != nil {
		return refuse(no)
	}
	if _, open := s.source.Wait(at.next); !open {
		return refuse(refusal.New(http.StatusServiceUnavailable, "the service is stopping"))
	}
	if !s.enter() {
		return refuse(refusal.New(http.StatusServiceUnavailable, "%d streams are open and that is the bound; come back later", s.o.MaxStreams))
	}
	return at
}

// parse reads which notices a client wants, and from where, in a log that keeps the numbers from
// first on and whose next one is next. The header wins, because a browser that reconnects sends it
// with the query of its first request.
//
// A client that has seen what is still to come has seen another log, such as one whose folder was
// replaced since. It gets all of this one. It is not refused: a browser would give the stream up
// for good, whatever the answer says.
func parse(rawQuery, lastEventID string, first, next uint64) (*position, *refusal.Error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, refusal.Field("query", "the query cannot be read: %v", err)
	}
	types, err := topic.Parse(strings.Join(query["types"], ","))
	if err != nil {
		return nil, refusal.Field("types", "%v", err)
	}
	at := &position{types: types, next: next}
	seen := lastEventID
	if seen == "" {
		if !query.Has("after") {
			return at, nil
		}
		seen = query.Get("after")
	}
	last, err := strconv.ParseUint(seen, 10, 64)
	tooLarge := errors.Is(err, strconv.ErrRange) // of another log, as any number that is still to come
	switch {
	case err != nil && !tooLarge && lastEventID == "":
		return nil, refusal.Field("after", "after is %.40q; it is the number of the last notice seen, 0 to have all that are kept", seen)
	case err != nil || last >= next:
		at.next, at.reset = first, true
	default:
		at.next = last + 1
	}
	return at, nil
}
