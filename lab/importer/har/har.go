// Package har reads the requests of a HAR file (HTTP Archive 1.2), as browsers export it. A
// request that occurs several times weighs as much. Values that an answer had and a later request
// contains, such as a token, make the requests a flow.
//
// It is not for checking answers against the file. It starts no goroutines.
package har

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/lab/importer/foreign"
)

// archive is the part of the file that is read.
type archive struct {
	Log *struct {
		Entries []entry `json:"entries"`
	} `json:"log"`
}

type entry struct {
	Started time.Time `json:"startedDateTime"`
	Took    float64   `json:"time"` // milliseconds
	Request struct {
		Method   string          `json:"method"`
		URL      string          `json:"url"`
		Headers  []foreign.Field `json:"headers"`
		PostData *struct {
			MimeType string          `json:"mimeType"`
			Text     string          `json:"text"`
			Params   []foreign.Field `json:"params"`
		} `json:"postData"`
	} `json:"request"`
	Response struct {
		Status  int             `json:"status"`
		Headers []foreign.Field `json:"headers"`
		Content struct {
			MimeType string `json:"mimeType"`
			Text     string `json:"text"`
			Encoding string `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
	ResourceType string `json:"_resourceType"` // of Chromium
}

// static lists the resource types that are files of a page.
var static = []string{"image", "stylesheet", "script", "font", "media", "manifest"}

// Read reads a HAR file.
func Read(text []byte) (*foreign.Load, error) {
	var file archive
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &file); err != nil {
		return nil, fmt.Errorf("it is not JSON of that form: %w", err)
	}
	if file.Log == nil || len(file.Log.Entries) == 0 {
		return nil, errors.New("it has no log.entries; reload the page with the network panel open, then export it again")
	}
	load, f := &foreign.Load{}, newFollower()
	entries := file.Log.Entries
	slices.SortStableFunc(entries, func(a, b entry) int { return a.Started.Compare(b.Started) })
	for i := range entries {
		if add(load, i+1, entries[i]); len(load.Requests) > f.seen {
			f.follow(load, &entries[i])
		}
	}
	load.Flows = f.passed
	return load, nil
}

func add(load *foreign.Load, number int, e entry) {
	r := foreign.Request{Method: strings.ToUpper(e.Request.Method), URL: e.Request.URL, Static: slices.Contains(static, e.ResourceType)}
	what := fmt.Sprintf("entry %d: %s %s", number, r.Method, foreign.Address(r.URL))
	switch {
	case r.Method == "OPTIONS" && slices.ContainsFunc(e.Request.Headers, func(f foreign.Field) bool {
		return strings.EqualFold(f.Name, "Access-Control-Request-Method")
	}):
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
	if p := e.Request.PostData; p != nil {
		if strings.HasPrefix(p.MimeType, "multipart/") && p.Text == "" {
			load.Leave(0, what, "the file has no text of its multipart form")
			return
		}
		r.Body = p.Text
		if p.Text == "" {
			r.Body = form(p.Params)
		}
		if p.MimeType != "" && r.Body != "" && (foreign.Field{Name: "Content-Type", Value: p.MimeType}).Valid() {
			r.Default("Content-Type", p.MimeType)
		}
	}
	load.Add(r)
}

// form joins parameters; a HAR has them in their encoded form.
func form(params []foreign.Field) string {
	var out []string
	for _, p := range params {
		out = append(out, p.Name+"="+p.Value)
	}
	return strings.Join(out, "&")
}
