package importer

import (
	"fmt"
	"net/url"
	"strings"
)

// Limits of an input.
const (
	MaxBytes    = 256 << 20 // of a file; a HAR with the bodies of answers is large
	maxRequests = 200_000
	maxBody     = 64 << 10 // of a request, as in a scenario
	maxFile     = 1 << 20  // of a file that another program wrote next to its own: an answer, or a body
)

// replaceMe ends a value that the input does not have, such as a token: the user must write it.
const replaceMe = "REPLACE-ME"

// Load is the load that a file of another tool describes, and what its reader left out.
type Load struct {
	Requests []Request
	Left     []Omission
	// Flows means that the requests follow one another in this order, and that values of answers, or
	// cookies, pass from one to the next.
	Flows    bool
	Insecure bool     // any certificate is trusted
	HTTP2    bool     // the client offers HTTP/2
	Notes    []string // further facts of the file, each a sentence without its end
}

// Request is one request of the file.
type Request struct {
	Line   int    // where the file has it, from 1; 0: not known
	Name   string // as the file calls it; empty: it has no name
	Method string
	URL    string // absolute, or a path if the file does not name the server
	// Exact means that the tool sends the URL's path as it is written. Other tools parse and escape
	// it again: they send /a%2Fb|c as /a/b%7Cc.
	Exact  bool
	Header []Field
	Body   string
	Static bool // a file that a page loads: a picture, a style sheet, a script
	Flow   Flow
}

// Field is a header field.
type Field struct{ Name, Value string }

// Omission is a part of the file that is not in the load.
type Omission struct {
	Line int // from 1; 0: not known, or the file as a whole
	What string
	Why  string
}

// Leave records a part of the file that is left out.
func (l *Load) Leave(line int, what, why string, args ...any) {
	l.Left = append(l.Left, Omission{line, what, fmt.Sprintf(why, args...)})
}

// Note adds a fact of the file.
func (l *Load) Note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// Add adds a request, or records why it cannot be sent.
func (l *Load) Add(r Request) {
	what := r.Method + " " + Address(r.URL)
	switch u, err := url.Parse(r.URL); {
	case err != nil:
		l.Leave(r.Line, r.Method+" of a URL", "it is not a URL")
	case u.Host == "" && !strings.HasPrefix(r.URL, "/"):
		l.Leave(r.Line, what, "its URL names no server and no path from the root")
	case u.Host != "" && u.Scheme != "http" && u.Scheme != "https":
		l.Leave(r.Line, what, "only http and https are read")
	case len(r.Body) > maxBody:
		l.Leave(r.Line, what, "its body has %d bytes, more than a scenario may hold (%d); put it into a file and write body_file", len(r.Body), maxBody)
	case !printable(r.Body):
		l.Leave(r.Line, what, "its body is binary; put it into a file and write body_file")
	case len(l.Requests) >= maxRequests:
		l.Leave(r.Line, what, "there are more than %d requests", maxRequests)
	default:
		l.Requests = append(l.Requests, r)
	}
}

// Address is a URL for messages: without its query and user, which may be secrets.
func Address(s string) string {
	s, _, _ = strings.Cut(s, "?")
	s, _, _ = strings.Cut(s, "#")
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		s = scheme + "://" + host + "/" + path
	}
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
