package flows

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"dyno/lab/load/corpus"
	"dyno/lab/workload"
)

// take checks the content of an answer whose status passed, and saves the step's values.
func (f *flow) take(s *step, answer *http.Response, body []byte) error {
	if err := s.check.Unmet(answer.Header, body); err != nil {
		return err
	}
	for i := range s.save {
		v := &s.save[i]
		value, err := f.value(&v.from, v.pattern, answer, body)
		if err != nil {
			return fmt.Errorf("save %s: %w", v.name, err)
		}
		if value == "" {
			return fmt.Errorf("save %s: the answer has no %s", v.name, source(&v.from))
		}
		f.values.Saved[v.name] = value
	}
	return nil
}

// value returns the value that a rule finds in an answer; empty: the answer has none.
func (f *flow) value(v *workload.Save, pattern *regexp.Regexp, answer *http.Response, body []byte) (string, error) {
	switch {
	case v.Header != "":
		return answer.Header.Get(v.Header), nil
	case v.Cookie != "":
		for _, c := range append(answer.Cookies(), f.jar.Cookies(answer.Request.URL)...) {
			if c.Name == v.Cookie {
				return c.Value, nil
			}
		}
		return "", nil
	case pattern != nil:
		if found := pattern.FindSubmatch(body); len(found) > 1 {
			return string(found[1]), nil
		}
		return "", nil
	}
	field, err := corpus.JSONField(body, strings.Split(v.JSON, ".")...)
	if err != nil {
		return "", err
	}
	return plain(field), nil
}

// plain returns a JSON value as text: a string without its quotes and escapes, null as the empty
// text, and any other value as it is written.
func plain(field []byte) string {
	var text string
	if len(field) > 0 && field[0] == '"' && json.Unmarshal(field, &text) == nil {
		return text
	}
	if string(field) == "null" {
		return ""
	}
	return string(field)
}

// source describes where a value comes from.
func source(v *workload.Save) string {
	switch {
	case v.Header != "":
		return "header " + v.Header
	case v.Cookie != "":
		return "cookie " + v.Cookie
	case v.Matches != "":
		return "match of " + v.Matches
	}
	return "field " + v.JSON
}
