package importer

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// readVegeta reads targets of vegeta in both of its formats: http, with the method and URL on a
// line, then header fields and @FILE of the body; and json, with an object on each line. open
// reads the files of bodies.
func readVegeta(text []byte, open Opener) (*Load, error) {
	s := strings.TrimPrefix(string(text), "\ufeff")
	load := &Load{}
	if strings.HasPrefix(strings.TrimSpace(s), "{") {
		readVegetaJSON(load, s)
	} else {
		readVegetaHTTP(load, s, open)
	}
	if len(load.Requests)+len(load.Left) == 0 {
		return nil, errors.New("it has no target; write for example GET http://127.0.0.1:8080/")
	}
	return load, nil
}

// readVegetaJSON reads the form json. Bodies are in base64.
func readVegetaJSON(load *Load, text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		var target struct {
			Method string      `json:"method"`
			URL    string      `json:"url"`
			Body   []byte      `json:"body"`
			Header http.Header `json:"header"`
		}
		if err := json.Unmarshal([]byte(line), &target); err != nil {
			load.Leave(n, "a line", "it is not a target: %v", err)
			continue
		}
		r := Request{Line: n, Method: strings.ToUpper(target.Method), URL: target.URL, Body: string(target.Body)}
		for name, values := range target.Header {
			for _, v := range values {
				r.Header = append(r.Header, Field{Name: name, Value: v})
			}
		}
		slices.SortStableFunc(r.Header, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		load.Add(r)
	}
}

// vegetaTarget matches the first line of a target of the form http.
var vegetaTarget = regexp.MustCompile(`^([A-Z]+)\s+(\S+)$`)

// readVegetaHTTP reads the form http. A target ends where the next one starts.
func readVegetaHTTP(load *Load, text string, open Opener) {
	var r *Request
	refused := false // the rest of a target that was left out
	end := func() {
		if r != nil && !refused {
			load.Add(*r)
		}
		r, refused = nil, false
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		m := vegetaTarget.FindStringSubmatch(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case m != nil:
			end()
			r = &Request{Line: n, Method: m[1], URL: m[2]}
		case r == nil:
			load.Leave(n, "a line", "a target begins with its method and URL, as in GET http://127.0.0.1:8080/")
		case strings.HasPrefix(line, "@"):
			body, err := open(line[1:])
			if err != nil {
				load.Leave(r.Line, r.Method+" "+Address(r.URL), "its body cannot be read: %v", err)
				refused = true
				continue
			}
			r.Body = string(body)
		default:
			f, ok := parseField(line)
			if !ok {
				load.Leave(n, "a line", "it is no header field, which has the form Name: value")
				continue
			}
			r.Header = append(r.Header, f)
		}
	}
	end()
}
