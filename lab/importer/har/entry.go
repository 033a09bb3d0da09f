package har

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

	"dyno/lab/importer/foreign"
)

// entry is the part of an entry that is read.
type entry struct {
	number, line int    // in the file, from 1
	broken       string // why nothing of it can be read
	at           time.Time
	sorted       time.Time // at, or the time of an entry before it

	Started      text   `json:"startedDateTime"`
	Took         number `json:"time"`          // milliseconds
	ResourceType text   `json:"_resourceType"` // of Chromium
	Request      request
	Response     response
}

type request struct {
	Method   text    `json:"method"`
	URL      text    `json:"url"`
	Headers  fields  `json:"headers"`
	Query    fields  `json:"queryString"`
	Cookies  fields  `json:"cookies"`
	BodySize *number `json:"bodySize"`
	PostData post    `json:"postData"`
}

type response struct {
	Status  number `json:"status"`
	Headers fields `json:"headers"`
	Content struct {
		MimeType text `json:"mimeType"`
		Text     text `json:"text"`
		Encoding text `json:"encoding"`
		File     text `json:"_file"` // of Playwright
	} `json:"content"`
}

// UnmarshalJSON reads an entry. Nothing but its request decides about it.
func (e *entry) UnmarshalJSON(b []byte) error {
	type plain entry
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
			e.Response = response{} // values of the answer are not followed
		}
	}
	if len(parts.Request) == 0 {
		return errors.New("it has no request")
	}
	return json.Unmarshal(parts.Request, &e.Request)
}

type post struct {
	MimeType text       `json:"mimeType"`
	Text     text       `json:"text"`
	Encoding text       `json:"encoding"`
	File     text       `json:"_file"` // of Playwright
	Params   parameters `json:"params"`
}

// UnmarshalJSON also reads a text alone.
func (p *post) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &p.Text)
	}
	type plain post
	return json.Unmarshal(b, (*plain)(p))
}

// parameters are those of a form: an array of objects, or one object.
type parameters []param

func (p *parameters) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*[]param)(p)) == nil {
		return nil
	}
	var object fields
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*p = nil
	for _, f := range object {
		value := text(f.Value)
		*p = append(*p, param{Name: text(f.Name), Value: &value})
	}
	return nil
}

type param struct {
	Name        text  `json:"name"`
	Value       *text `json:"value"`
	FileName    text  `json:"fileName"`
	ContentType text  `json:"contentType"`
}

// text is a text; a value of another type is its JSON.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	switch err := json.Unmarshal(b, &s); {
	case err == nil:
		*t = text(s)
	default:
		*t = text(b)
	}
	return nil
}

// number is a number, also one in a text; one that cannot be read is -1.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(strings.Trim(string(b), `"`))
	s, *n = strings.TrimSpace(strings.TrimSuffix(s, "ms")), -1
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && math.Abs(f) < 1e15 {
		*n = number(f)
	}
	return nil
}

// fields are those of a header, of a query or of cookies: an array of objects, or one object.
type fields []foreign.Field

func (f *fields) UnmarshalJSON(b []byte) error {
	var array []json.RawMessage
	if json.Unmarshal(b, &array) == nil {
		for _, raw := range array {
			var one struct{ Name, Value text }
			if json.Unmarshal(raw, &one) == nil {
				*f = append(*f, foreign.Field{Name: string(one.Name), Value: string(one.Value)})
			}
		}
		return nil
	}
	var object map[string]text
	if json.Unmarshal(b, &object) == nil {
		for name, value := range object {
			*f = append(*f, foreign.Field{Name: name, Value: string(value)})
		}
		slices.SortFunc(*f, func(a, b foreign.Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return nil
}

func (f fields) get(name string) string {
	r := foreign.Request{Header: f}
	return r.Get(name)
}

// entriesOf reads the entries of a file one by one, so that each has its line, and one that is not
// JSON, or ends with a file that was cut, costs itself alone.
func entriesOf(file []byte, load *foreign.Load) (out []entry, err error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	in := json.NewDecoder(bytes.NewReader(file))
	found, err := find(in, "log", "entries")
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
		e := entry{number: number, line: line}
		length := valueAt(next)
		if length == 0 {
			load.Leave(line, fmt.Sprintf("entry %d and what follows", number), "the file ends within it, or is not JSON")
			break
		}
		if err := unmarshal(next[:length], &e); err != nil {
			e.broken = "it is no entry of a HAR: " + reason(err)
		}
		out, rest = append(out, e), next[length:]
		line += bytes.Count(next[:length], []byte("\n"))
	}
	if len(out) == 0 && len(load.Left) == 0 {
		return nil, errors.New("it has no log.entries; reload the page with the network panel open, then export it again")
	}
	return out, nil
}

// notJSON matches values that Python writes for what JSON does not have.
var notJSON = regexp.MustCompile(`:\s*(NaN|-?Infinity)\b`)

func unmarshal(raw []byte, e *entry) error {
	err := json.Unmarshal(raw, e)
	if wrong := new(json.SyntaxError); errors.As(err, &wrong) && notJSON.Match(raw) {
		return json.Unmarshal(notJSON.ReplaceAll(raw, []byte(":null")), e)
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
				return i // of an array: what precedes it is a number or a word
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

// reason names the field that has another form.
func reason(err error) string {
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return "it is " + wrong.Value + ", not an object"
		}
		return wrong.Field + " is " + wrong.Value + " there"
	}
	return err.Error()
}

// find moves a decoder into the array at the end of a path of names; false: there is none.
func find(in *json.Decoder, path ...string) (bool, error) {
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
			return find(in, path[1:]...)
		}
		var skipped json.RawMessage
		if err := in.Decode(&skipped); err != nil {
			return false, err
		}
	}
	return false, nil
}

// escaped matches an escape of a URL.
var escaped = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// address is the request's URL. Some programs write its query apart, and not escaped.
func (e *entry) address() string {
	address := string(e.Request.URL)
	if len(e.Request.Query) == 0 || strings.Contains(address, "?") {
		return address
	}
	var pairs []string
	for _, q := range e.Request.Query {
		pairs = append(pairs, component(q.Name)+"="+component(q.Value))
	}
	address, _, _ = strings.Cut(address, "#")
	return address + "?" + strings.Join(pairs, "&")
}

// component escapes a name or a value of a query or a form, unless it is escaped already.
func component(s string) string {
	if escaped.MatchString(s) && !strings.ContainsAny(escaped.ReplaceAllString(s, ""), "% &=") {
		return s
	}
	return url.QueryEscape(s)
}

// cookies are those of the request, for files that have no field Cookie.
func (e *entry) cookies() string {
	var out []string
	for _, c := range e.Request.Cookies {
		out = append(out, c.Name+"="+c.Value)
	}
	return strings.Join(out, "; ")
}
