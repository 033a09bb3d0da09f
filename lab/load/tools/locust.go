package tools

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"

	"dyno/lab/load"
)

// Locust reads the lines that LocustPlugin prints.
var Locust = Form{Name: "Locust", None: "see its log", read: readLocust}

// LocustPlugin is a file for Locust's option -f, in addition to the user's own: it prints a line
// for each request that ends.
//
//go:embed locust.py
var LocustPlugin []byte

// locustLine is a line of LocustPlugin.
type locustLine struct {
	Dyno   string  `json:"dyno"` // "request"
	Done   int64   `json:"t"`    // ns since 1970
	Took   float64 `json:"ms"`
	User   string  `json:"user"`
	Status int     `json:"status"` // 0: there was no answer
	Failed bool    `json:"failed"`
	Error  string  `json:"error"`
	Bytes  int     `json:"bytes"`
}

func readLocust(line []byte) (request, bool) {
	var l locustLine
	if !bytes.HasPrefix(line, []byte(`{"dyno"`)) || json.Unmarshal(line, &l) != nil || l.Dyno != "request" || l.Done <= 0 {
		return request{}, false
	}
	q := request{user: l.User, done: l.Done, took: int64(min(max(l.Took, 0), 3.6e6) * 1e6), success: !l.Failed, bytes: min(max(l.Bytes, 0), 1<<30)}
	if len(q.user) > maxName {
		q.user = ""
	}
	kind := load.OK // for example, a successful call of another protocol
	if l.Failed {
		kind = locustKind(l.Error)
	}
	q.status = statusOf(l.Status, kind)
	return q, true
}

// locustKind returns the kind of failure that an exception's text names.
func locustKind(text string) load.Status {
	text = strings.ToLower(text)
	for _, k := range []struct {
		part string
		kind load.Status
	}{
		{"timed out", load.Timeout}, {"timeout", load.Timeout}, {"refused", load.Refused}, {"reset", load.Reset},
		{"remotedisconnected", load.Closed}, {"closed", load.Closed}, {"ended prematurely", load.Closed}, {"connectionerror", load.Connect},
	} {
		if strings.Contains(text, k.part) {
			return k.kind
		}
	}
	return load.Other
}
