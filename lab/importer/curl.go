package importer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// readCurl reads pasted curl commands, quoted for bash or for the command line of Windows, as
// browsers copy them: one, or several after one another. It follows curl 8.22; where curl's
// versions differ, a request is left out. It reads no variable of the environment. open reads the
// files that -d @FILE names.
func readCurl(text []byte, open Opener) (*Load, error) {
	commands, err := splitShell(strings.TrimPrefix(string(text), "\ufeff"))
	if err != nil {
		return nil, err
	}
	load, found := &Load{}, false
	for _, c := range commands {
		if !c.isCurl() {
			load.Leave(c.line, "a command", "it is not curl")
			continue
		}
		found = true
		words := c.words[1:]
		for first := true; first || len(words) > 0; first = false {
			r := curlReader{load: load, line: c.line, open: open}
			words = r.read(words)
		}
	}
	if !found {
		return nil, errors.New("it has no curl command; paste one as the browser's menu Copy as cURL gives it")
	}
	return load, nil
}

// curlReader reads the words of one operation, which ends with --next.
type curlReader struct {
	load *Load
	line int
	open Opener

	urls     []curlTarget
	uploads  []string // files of -T, one for each URL in turn
	custom   []string // lines of -H
	own      []Field
	cookies  []string
	data     string
	query    []string // of --url-query
	method   string
	protocol string // of a URL without a scheme: --proto-default
	target   string // --request-target
	user     string
	span     string // of -r

	posts, get, head, json, compressed bool
	noGlob, asIs                       bool   // -g, --path-as-is
	auth                               string // a flag of another kind of authentication than Basic
	refuse                             string // why the operation is left out
	said                               bool   // whether an unknown URL of it was noted already
}

// curlTarget is a URL, or a pattern of several.
type curlTarget struct {
	text string
	raw  bool // no pattern
}

// read reads the words of an operation, and returns those after it.
func (c *curlReader) read(words []shellWord) (rest []shellWord) {
	options := true
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case !options || !strings.HasPrefix(w.text, "-") || w.text == "-", w.unknown != "" && !w.known():
			c.url(w)
			continue
		case w.text == "--":
			options = false
			continue
		}
		for o := readOption(w.text); ; { // -sSL is three
			if o.name == "next" {
				c.add()
				return words[i+1:]
			}
			if o.name != "" && takesValue[o.name] {
				value := shellWord{text: o.value, unknown: w.unknown}
				if !o.attached && w.unknown == "" {
					if i++; i == len(words) {
						c.refuse = "its last option, " + o.text + ", lacks its value"
						break
					}
					value = words[i]
				}
				c.take(o, value)
				break
			}
			c.switchOn(o)
			if o.rest == "" || o.name == "" {
				break
			}
			o = readOption("-" + o.rest)
		}
	}
	c.add()
	return nil
}

func (c *curlReader) url(w shellWord) {
	if w.unknown != "" {
		c.load.Leave(c.line, "a URL", "it uses %s, which only the shell knows; write its value", w.unknown)
		c.refuse, c.said = "its URL is not known", true
		return
	}
	c.urls = append(c.urls, curlTarget{text: w.text})
}

func (c *curlReader) take(o curlOption, value shellWord) {
	f, why := curlFlags[o.name], ""
	switch {
	case f.read == nil && f.why == "":
		return // it has no meaning here, whatever its value is
	case value.unknown != "":
		why = "it uses " + value.unknown + ", which only the shell knows; write its value"
	case o.expand && strings.Contains(value.text, "{{"):
		why = "variables of curl are not read; write their values"
	case f.read == nil:
		why = f.why
	default:
		if err := f.read(c, value.text); err != nil {
			c.load.Leave(c.line, o.text, "%v", err)
		}
		return
	}
	c.load.Leave(c.line, o.text, "%s", why)
	if f.read != nil && o.name != "header" {
		c.refuse = "its " + o.text + " is not known"
	}
}

func (c *curlReader) switchOn(o curlOption) {
	if o.name == "" {
		c.refuse = fmt.Sprintf("curl has no option %.60q, and sends nothing", o.text)
		return
	}
	f := curlFlags[o.name]
	if f.on != nil {
		f.on(c, !o.off)
	}
	if f.why != "" && !o.off {
		c.load.Leave(c.line, o.text, "%s", f.why)
	}
}

func (c *curlReader) add() {
	c.end()
	for i, t := range c.urls {
		upload := ""
		if i < len(c.uploads) {
			upload = c.uploads[i]
		}
		r := Request{Line: c.line, URL: t.text, Exact: true}
		why := c.fill(&r, upload)
		addresses := []string{t.text}
		if why == "" && !t.raw && !c.noGlob {
			if all, err := glob(t.text); err != nil {
				why = err.Error()
			} else if len(all) > maxRequests-len(c.load.Requests) {
				why = fmt.Sprintf("it stands for %d requests, and there may be %d in all", len(all), maxRequests)
			} else {
				addresses = all
			}
		}
		for _, a := range addresses {
			query := slices.Clone(c.query)
			if c.get && c.posts {
				query = append(query[:0], c.data) // curl takes one of the two
			}
			at, err := c.complete(withFile(a, upload), strings.Join(query, "&"))
			switch {
			case why != "":
				c.load.Leave(c.line, r.Method+" "+Address(a), "%s", why)
			case err != nil:
				c.load.Leave(c.line, r.Method+" "+Address(a), "%v", err)
			default:
				each := r
				each.URL, each.Header = at, slices.Clone(r.Header)
				c.load.Add(each)
				continue
			}
			break
		}
	}
}

// end checks an operation as a whole: whether it has a URL, and one kind of request.
func (c *curlReader) end() {
	if len(c.urls) == 0 && c.refuse == "" {
		c.refuse = "it has no URL"
	}
	if len(c.urls) == 0 && !c.said {
		c.load.Leave(c.line, "a curl command", "%s", c.refuse)
	}
	kinds := 0
	for _, k := range []bool{c.head, c.posts && !c.get, len(c.uploads) > 0} {
		if k {
			kinds++
		}
	}
	if kinds > 1 && c.refuse == "" {
		c.refuse = "curl takes one of -I, -d and -T, and sends nothing otherwise"
	}
	if len(c.uploads) > len(c.urls) && c.refuse == "" {
		c.refuse = "it has more files (-T) than URLs"
	}
}

// fill sets method, header and body of a request, or returns the reason why it cannot.
func (c *curlReader) fill(r *Request, upload string) (why string) {
	kind := http.MethodGet
	switch {
	case c.head:
		kind = http.MethodHead
	case upload != "":
		kind = http.MethodPut
	case c.posts && !c.get:
		kind, r.Body = http.MethodPost, c.data
	}
	if r.Method = cmp.Or(c.method, kind); c.refuse != "" {
		return c.refuse
	}
	if upload != "" {
		b, err := c.open(upload)
		if err != nil {
			return fmt.Sprintf("its body cannot be read: %v", err)
		}
		r.Body = string(b)
	}
	r.Header = c.header(kind, len(r.Body))
	if strings.ToUpper(r.Method) != r.Method {
		return "a scenario writes methods in capitals, and another case is another method (RFC 9110, 9.1)"
	}
	return ""
}

// withFile adds the name of an uploaded file to a URL whose path ends with /, or is empty.
func withFile(address, file string) string {
	if file == "" || strings.ContainsAny(address, "?#") {
		return address
	}
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	switch name := url.QueryEscape(path.Base(strings.ReplaceAll(file, `\`, "/"))); {
	case strings.HasSuffix(rest, "/"):
		return address + name
	case !strings.Contains(rest, "/"):
		return address + "/" + name
	}
	return address
}
