// Package headersets has the header fields that real programs send: proxies, and clients in several
// languages, each with its version. They are recorded from the programs themselves by
// bench/tests/headers; those of .NET, which does not run there, are from its documentation, and what
// is derived from a recorded set says so.
//
// It is for tests and measurements of what a server does with the requests that reach it in
// production, and not for servers. It starts no goroutines.
package headersets

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed sets.json
var recorded []byte

// Set is what a program sends.
type Set struct {
	Program string `json:"program"`
	Version string `json:"version"`
	How     string `json:"how,omitempty"`  // it is used, if there are several ways
	Get     Fields `json:"get,omitempty"`  // of a GET; none: the program sends none
	Post    Fields `json:"post,omitempty"` // of a POST of JSON; none: the program sends none
}

// Fields are the lines of a header, in their order and spelling. An Authorization is "Bearer TOKEN",
// and a Host is "HOST".
type Fields []string

// Name returns the program and how it is used, for people.
func (s Set) Name() string {
	if s.How == "" {
		return s.Program
	}
	return s.Program + ", " + s.How
}

// Recorded returns all sets, in the order of bench/tests/headers.
func Recorded() (sets []Set, err error) {
	if err := json.Unmarshal(recorded, &sets); err != nil {
		return nil, fmt.Errorf("sets.json: %w", err)
	}
	return sets, nil
}

// Traceparent is a header line that clients with OpenTelemetry add: of a trace that is not recorded.
const Traceparent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

// With returns fields with further lines.
func (f Fields) With(lines ...string) Fields { return append(f[:len(f):len(f)], lines...) }

// Without returns the fields without those of a name.
func (f Fields) Without(name string) (out Fields) {
	for _, line := range f {
		if !strings.EqualFold(NameOf(line), name) {
			out = append(out, line)
		}
	}
	return out
}

// NameOf returns the name of a line's field.
func NameOf(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// Request is a whole request with these fields: of a host, with a token where the fields have one,
// and a body that is chunked where theirs was. A body without framing in the fields has a length.
func (f Fields) Request(method, target, host, token, body string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", method, target)
	framed, hosted := method == "GET" || method == "HEAD", false
	for _, line := range f {
		switch name := strings.ToLower(NameOf(line)); name {
		case "host":
			line, hosted = NameOf(line)+": "+host, true
		case "authorization":
			if token == "" {
				continue
			}
			line = NameOf(line) + ": Bearer " + token
		case "content-length":
			line, framed = fmt.Sprintf("%s: %d", NameOf(line), len(body)), true
		case "transfer-encoding":
			framed = true
			body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		}
		out.WriteString(line + "\r\n")
	}
	if !hosted {
		out.WriteString("Host: " + host + "\r\n")
	}
	if !framed {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(body))
	}
	return out.String() + "\r\n" + body
}
