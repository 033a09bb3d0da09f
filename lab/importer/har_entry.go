package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// harEntry is the part of a HAR entry that readHAR uses.
type harEntry struct {
	number, line int    // in the file, from 1
	broken       string // why nothing of it can be read
	at           time.Time
	sorted       time.Time // at, or the time of an entry before it

	Started      harText   `json:"startedDateTime"`
	Took         harNumber `json:"time"`          // milliseconds
	ResourceType harText   `json:"_resourceType"` // of Chromium
	Request      harRequest
	Response     harResponse
}

type harRequest struct {
	Method   harText    `json:"method"`
	URL      harText    `json:"url"`
	Headers  harFields  `json:"headers"`
	Query    harFields  `json:"queryString"`
	Cookies  harFields  `json:"cookies"`
	BodySize *harNumber `json:"bodySize"`
	PostData harPost    `json:"postData"`
}

type harResponse struct {
	Status  harNumber `json:"status"`
	Headers harFields `json:"headers"`
	Content struct {
		MimeType harText `json:"mimeType"`
		Text     harText `json:"text"`
		Encoding harText `json:"encoding"`
		File     harText `json:"_file"` // of Playwright
	} `json:"content"`
}

// UnmarshalJSON reads an entry. A response that cannot be read is ignored, so that the request is
// still sent.
func (e *harEntry) UnmarshalJSON(b []byte) error {
	type plain harEntry
	var parts struct {
		*plain
		Request, Response json.RawMessage
	}
	parts.plain = (*plain)(e)
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts.Response) > 0 {
		if err := json.Unmarshal(parts.Response, &e.Response); err != nil {
			e.Response = harResponse{} // its values cannot be followed then
		}
	}
	if len(parts.Request) == 0 {
		return errors.New("it has no request")
	}
	return json.Unmarshal(parts.Request, &e.Request)
}

type harPost struct {
	MimeType harText   `json:"mimeType"`
	Text     harText   `json:"text"`
	Encoding harText   `json:"encoding"`
	File     harText   `json:"_file"` // of Playwright
	Params   harParams `json:"params"`
}

// UnmarshalJSON reads an object, or a string, which is then the text.
func (p *harPost) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &p.Text)
	}
	type plain harPost
	return json.Unmarshal(b, (*plain)(p))
}

// harParams are those of a form: an array of objects, or one object.
type harParams []harParam

func (p *harParams) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*[]harParam)(p)) == nil {
		return nil
	}
	var object harFields
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*p = nil
	for _, f := range object {
		value := harText(f.Value)
		*p = append(*p, harParam{Name: harText(f.Name), Value: &value})
	}
	return nil
}

type harParam struct {
	Name        harText  `json:"name"`
	Value       *harText `json:"value"`
	FileName    harText  `json:"fileName"`
	ContentType harText  `json:"contentType"`
}

// harText is a string; a value of another type becomes its JSON text.
type harText string

func (t *harText) UnmarshalJSON(b []byte) error {
	var s string
	switch err := json.Unmarshal(b, &s); {
	case err == nil:
		*t = harText(s)
	default:
		*t = harText(b)
	}
	return nil
}

// harNumber is a number, which may be in a string; one that cannot be read is -1.
type harNumber float64

func (n *harNumber) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(strings.Trim(string(b), `"`))
	s, *n = strings.TrimSpace(strings.TrimSuffix(s, "ms")), -1
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && math.Abs(f) < 1e15 {
		*n = harNumber(f)
	}
	return nil
}

// harFields are those of a header, of a query or of cookies: an array of objects, or one object.
type harFields []Field

func (f *harFields) UnmarshalJSON(b []byte) error {
	var array []json.RawMessage
	if json.Unmarshal(b, &array) == nil {
		for _, raw := range array {
			var one struct{ Name, Value harText }
			if json.Unmarshal(raw, &one) == nil {
				*f = append(*f, Field{Name: string(one.Name), Value: string(one.Value)})
			}
		}
		return nil
	}
	var object map[string]harText
	if json.Unmarshal(b, &object) == nil {
		for name, value := range object {
			*f = append(*f, Field{Name: name, Value: string(value)})
		}
		slices.SortFunc(*f, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return nil
}

func (f harFields) get(name string) string {
	r := Request{Header: f}
	return r.Get(name)
}

// entriesOf reads the entries of a file one by one, so that each has its line, and an entry that
// is not JSON, or is cut off by the end of the file, does not affect those before it.
func entriesOf(file []byte, load *Load) (out []harEntry, err error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	in := json.NewDecoder(bytes.NewReader(file))
	found, err := findMember(in, "log", "entries")
	rest, line := file[in.InputOffset():], 1+bytes.Count(file[:in.InputOffset()], []byte("\n"))
	if err != nil {
		return nil, fmt.Errorf("line %d: it is not JSON of that form: %w", line, err)
	}
	for number := 1; found; number++ {
		next := bytes.TrimLeft(rest, " \t\r\n,")
		line += bytes.Count(rest[:len(rest)-len(next)], []byte("\n"))
		if len(next) == 0 || next[0] == ']' {
			break
		}
		e := harEntry{number: number, line: line}
		length := valueAt(next)
		if length == 0 {
			load.Leave(line, fmt.Sprintf("entry %d and what follows", number), "the file ends within it, or is not JSON")
			break
		}
		if err := unmarshalEntry(next[:length], &e); err != nil {
			e.broken = "it is no entry of a HAR: " + jsonReason(err)
		}
		out, rest = append(out, e), next[length:]
		line += bytes.Count(next[:length], []byte("\n"))
	}
	if len(out) == 0 && len(load.Left) == 0 {
		return nil, errors.New("it has no log.entries; reload the page with the network panel open, then export it again")
	}
	return out, nil
}

// notJSONNumber matches numbers that Python writes although JSON does not have them.
var notJSONNumber = regexp.MustCompile(`:\s*(NaN|-?Infinity)\b`)

func unmarshalEntry(raw []byte, e *harEntry) error {
	err := json.Unmarshal(raw, e)
	if wrong := new(json.SyntaxError); errors.As(err, &wrong) && notJSONNumber.Match(raw) {
		return json.Unmarshal(notJSONNumber.ReplaceAll(raw, []byte(":null")), e)
	}
	return err
}

// valueAt is the length of the value that a text begins with, to the bracket that closes its first
// one; 0: it has no end.
func valueAt(s []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i // the array's own bracket: the value before it is a number or a word
			}
		case c == ',' && depth == 0:
			return i
		}
		if depth == 0 && !quoted && (s[i] == '}' || s[i] == ']') {
			return i + 1
		}
	}
	return 0
}

// jsonReason names the field that has another form.
func jsonReason(err error) string {
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return "it is " + wrong.Value + ", not an object"
		}
		return wrong.Field + " is " + wrong.Value + " there"
	}
	return err.Error()
}

// findMember moves a decoder into the array at the end of a path of names; false: there is none.
func findMember(in *json.Decoder, path ...string) (bool, error) {
	want := json.Delim('{')
	if len(path) == 0 {
		want = '['
	}
	switch t, err := in.Token(); {
	case err != nil:
		return false, err
	case t != want:
		return false, nil
	case len(path) == 0:
		return true, nil
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return false, err
		}
		if name == path[0] {
			return findMember(in, path[1:]...)
		}
		var skipped json.RawMessage
		if err := in.Decode(&skipped); err != nil {
			return false, err
		}
	}
	return false, nil
}

// percentEscape matches an escape of a URL.
var percentEscape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// address is the request's URL. Some programs write its query separately, and not escaped.
func (e *harEntry) address() string {
	address := string(e.Request.URL)
	if len(e.Request.Query) == 0 || strings.Contains(address, "?") {
		return address
	}
	var pairs []string
	for _, q := range e.Request.Query {
		pairs = append(pairs, escapeComponent(q.Name)+"="+escapeComponent(q.Value))
	}
	address, _, _ = strings.Cut(address, "#")
	return address + "?" + strings.Join(pairs, "&")
}

// escapeComponent escapes a name or a value of a query or a form, unless it is escaped already.
func escapeComponent(s string) string {
	if percentEscape.MatchString(s) && !strings.ContainsAny(percentEscape.ReplaceAllString(s, ""), "% &=") {
		return s
	}
	return url.QueryEscape(s)
}

// cookies are those of the request, for files that have no field Cookie.
func (e *harEntry) cookies() string {
	var out []string
	for _, c := range e.Request.Cookies {
		out = append(out, c.Name+"="+c.Value)
	}
	return strings.Join(out, "; ")
}
