package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"dyno/lab/workload"
)

// Limits of the answers and values that are compared.
const (
	maxAnswer       = 1 << 20 // bytes of an answer: more cannot be saved from
	maxAnswerValues = 200_000
	maxAnswerValue  = 4096
	leastText       = 6                      // characters of a value that is recognised anywhere
	leastWait       = 100 * time.Millisecond // a shorter pause is the page's own work
)

// valueSource is the place of a value in the answer to a request.
type valueSource struct {
	request int
	save    Save
	field   string // its name there
}

// follower looks for the values of answers in later requests.
type follower struct {
	seen    int // requests
	values  map[string]valueSource
	sent    map[string]bool // values that a request had before an answer did: the client's own
	cookies map[string]bool // names of cookies that answers have set
	ended   time.Time       // the latest answer's end
	passed  bool            // a value or a cookie passed from an answer to a request
}

func newFollower() *follower {
	return &follower{values: map[string]valueSource{}, sent: map[string]bool{}, cookies: map[string]bool{}}
}

// follow marks the values of earlier answers in the last request, and records the values of its
// own answer.
func (f *follower) follow(load *Load, e *harEntry, open Opener) {
	last := len(load.Requests) - 1
	f.seen = last + 1
	r := &load.Requests[last]
	if r.Static {
		return
	}
	if !e.at.IsZero() {
		const longest = 1e9 // ms that a request may take
		if pause := e.at.Sub(f.ended); !f.ended.IsZero() && pause >= leastWait {
			r.Flow.Think = pause.Round(10 * time.Millisecond)
		}
		if end := e.at.Add(time.Duration(e.Took * harNumber(time.Millisecond))); end.After(f.ended) && e.Took >= 0 && e.Took < longest {
			f.ended = end
		}
	} else {
		f.ended = time.Time{}
	}
	if status := int(e.Response.Status); status >= 300 && status < 400 && status != http.StatusNotModified {
		r.Flow.Check.Status = []int{status}
	}
	f.mark(load, r)
	f.answer(last, e, open)
}

// mark replaces values of earlier answers by marks, and removes cookies that the flow's own
// answers will set.
func (f *follower) mark(load *Load, r *Request) {
	m := marker{follower: f, load: load}
	header := r.Header[:0:0]
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, "Cookie") {
			if h.Value = f.others(h.Value); h.Value == "" {
				continue
			}
		} else {
			h.Value = m.header(h.Value)
		}
		header = append(header, h)
	}
	r.Header = header
	r.URL = m.url(r.URL)
	contentType := r.Get("Content-Type")
	switch {
	case strings.Contains(contentType, "json"):
		r.Body = m.json(r.Body)
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		r.Body = m.pairs(r.Body)
	}
	for _, v := range m.own {
		f.sent[v] = true
	}
}

// others returns the cookies of a request except those that earlier answers have set.
func (f *follower) others(cookies string) string {
	var out []string
	for _, c := range strings.Split(cookies, ";") {
		c = strings.TrimSpace(c)
		if name, _, _ := strings.Cut(c, "="); f.cookies[name] {
			f.passed = true
		} else if c != "" {
			out = append(out, c)
		}
	}
	return strings.Join(out, "; ")
}

func (f *follower) answer(request int, e *harEntry, open Opener) {
	for _, h := range e.Response.Headers {
		switch strings.ToLower(h.Name) {
		case "set-cookie":
			for _, line := range strings.Split(h.Value, "\n") { // Chromium joins them
				if c, err := http.ParseSetCookie(line); err == nil {
					f.cookies[c.Name] = true
					f.take(c.Value, valueSource{request, Save{From: workload.Save{Cookie: c.Name}}, c.Name})
				}
			}
		case "date", "content-type", "content-length", "cache-control", "server", "vary", "connection", "location": // browsers follow it
		default:
			f.take(h.Value, valueSource{request, Save{From: workload.Save{Header: h.Name}}, h.Name})
		}
	}
	c := &e.Response.Content
	text, err := decodedBody(string(c.Text), string(c.Encoding))
	if c.File != "" && err == nil {
		var b []byte
		b, err = open(string(c.File))
		text = string(b)
	}
	mimeType := string(c.MimeType)
	switch {
	case err != nil || len(text) > maxAnswer:
	case strings.Contains(mimeType, "json"):
		var v any
		in := json.NewDecoder(strings.NewReader(text))
		in.UseNumber()
		if in.Decode(&v) == nil {
			f.fields(request, v, nil)
		}
	case strings.Contains(mimeType, "html"):
		f.inputs(request, text)
	}
}

// maxAnswerDepth bounds the nesting of an answer's fields that are compared.
const maxAnswerDepth = 20

// fields records the values of a JSON answer, of arrays those of the first member.
func (f *follower) fields(request int, v any, path []string) {
	if len(path) > maxAnswerDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			f.fields(request, v[name], append(path[:len(path):len(path)], name))
		}
	case []any:
		if len(v) > 0 {
			f.fields(request, v[0], append(path[:len(path):len(path)], "0"))
		}
	case string, json.Number:
		if where, ok := jsonPath(path); ok {
			f.take(fmt.Sprint(v), valueSource{request, Save{From: workload.Save{JSON: where}}, path[len(path)-1]})
		}
	}
}

var (
	inputTag       = regexp.MustCompile(`(?i)<input\b[^<>]{0,1000}>`)
	nameAttribute  = regexp.MustCompile(`(?i)\bname=("[^"]*"|'[^']*')`)
	valueAttribute = regexp.MustCompile(`(?i)\bvalue=("[^"]*"|'[^']*')`)
)

// inputs records the values of a page's form, such as its token against cross-site request
// forgery.
func (f *follower) inputs(request int, page string) {
	for _, tag := range inputTag.FindAllString(page, 1000) {
		name, value := nameAttribute.FindStringSubmatchIndex(tag), valueAttribute.FindStringSubmatchIndex(tag)
		if name == nil || value == nil {
			continue
		}
		quoted := regexp.QuoteMeta(tag[name[0]:name[1]])
		quote := tag[value[2] : value[2]+1]
		group := "value=" + quote + "([^" + quote + "]*)" + quote
		expression := quoted + "[^>]*" + group
		if value[0] < name[0] {
			expression = group + "[^>]*" + quoted
		}
		if strings.ContainsAny(expression, "\r\n") {
			continue
		}
		f.take(tag[value[2]+1:value[3]-1], valueSource{request, Save{From: workload.Save{Matches: expression}}, tag[name[2]+1 : name[3]-1]})
	}
}

// take records the source of a value: the first answer that has it, unless the client sent it
// before.
func (f *follower) take(value string, s valueSource) {
	if value == "" || len(value) > maxAnswerValue || f.sent[value] || len(f.values) >= maxAnswerValues {
		return
	}
	if _, known := f.values[value]; known {
		return
	}
	if len(value) < leastText && !identifies(s.field) {
		return
	}
	s.save.Value = value
	f.values[value] = s
}

var identityField = regexp.MustCompile(`(?i)(^|_|-)(id|uuid|key|code|slug|number|no)$|[a-z](Id|ID|Uuid|Key|Code|Number)$`)

// identifies reports whether a field's name is that of an identity: short values of other fields
// may be equal by chance.
func identifies(field string) bool { return identityField.MatchString(field) }
