// Package curl reads pasted curl commands, quoted for bash or for the command line of Windows, as
// browsers copy them: one, or several after one another.
//
// It is not for running them, and it reads no variable of the environment. It starts no goroutines.
package curl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/importer/foreign"
)

// Read reads commands; open reads the files that -d @FILE names.
func Read(text []byte, open foreign.Opener) (*foreign.Load, error) {
	commands, err := split(strings.TrimPrefix(string(text), "\ufeff"))
	if err != nil {
		return nil, err
	}
	load, found := &foreign.Load{}, false
	for _, c := range commands {
		if !c.isCurl() {
			load.Leave(c.line, "a command", "it is not curl")
			continue
		}
		found = true
		from := 1
		for i := 1; i <= len(c.words); i++ {
			if i == len(c.words) || c.words[i].text == "--next" || c.words[i].text == "-:" {
				r := reader{load: load, line: c.line, open: open}
				r.read(c.words[from:i])
				from = i + 1
			}
		}
	}
	if !found {
		return nil, errors.New("it has no curl command; paste one as the browser's menu Copy as cURL gives it")
	}
	return load, nil
}

// reader reads the words of one transfer.
type reader struct {
	load   *foreign.Load
	line   int
	open   foreign.Opener
	r      foreign.Request // without its URL
	urls   []string
	data   []string
	method string
	get    bool   // -G: the data is the query
	head   bool   // -I
	json   bool   // --json
	refuse string // why the transfer is left out
}

func (c *reader) read(words []word) {
	for i := 0; i < len(words); i++ {
		name, value, attached := flagOf(words[i].text)
		if name == "" {
			c.word("a URL", words[i], func() error { c.urls = append(c.urls, words[i].text); return nil })
			continue
		}
		for { // -sSL is three flags
			f, known := lookup(name)
			if !known {
				c.load.Leave(c.line, name, "this flag is not known, and is read as one without a value")
			}
			if f.read != nil || f.takes {
				w := word{text: value, unknown: words[i].unknown}
				if !attached && i+1 < len(words) {
					i++
					w = words[i]
				}
				c.word(name, w, func() error { return c.take(f, w.text) })
				break
			}
			c.switchOn(name, f)
			if !attached || strings.HasPrefix(name, "--") {
				break
			}
			name, value, attached = "-"+value[:1], value[1:], len(value) > 1
		}
	}
	c.add()
}

// word reads a word unless the shell would have to compute it.
func (c *reader) word(what string, w word, read func() error) {
	if w.unknown != "" {
		c.load.Leave(c.line, what, "it uses %s, which only the shell knows; write its value", w.unknown)
		if what == "a URL" {
			c.refuse = "its URL is not known"
		}
		return
	}
	if err := read(); err != nil {
		c.load.Leave(c.line, what, "%v", err)
	}
}

func (c *reader) take(f flag, value string) error {
	if f.read != nil {
		return f.read(c, value)
	}
	if f.why != "" {
		return errors.New(f.why)
	}
	return nil
}

func (c *reader) switchOn(name string, f flag) {
	if f.on != nil {
		f.on(c)
	}
	if f.why != "" {
		c.load.Leave(c.line, name, "%s", f.why)
	}
}

// flagOf splits a word: --name, --name=value, -x, -xvalue. An empty name: the word is no flag.
func flagOf(w string) (name, value string, attached bool) {
	switch {
	case strings.HasPrefix(w, "--"):
		return w, "", false
	case strings.HasPrefix(w, "-") && len(w) > 1:
		return w[:2], w[2:], len(w) > 2
	}
	return "", "", false
}

// add adds a request for each URL.
func (c *reader) add() {
	if len(c.urls) == 0 && c.refuse == "" {
		c.load.Leave(c.line, "a curl command", "it has no URL")
	}
	body := strings.Join(c.data, "&")
	if c.json {
		body = strings.Join(c.data, "")
	}
	for _, address := range c.urls {
		r := c.r
		r.Line, r.URL, r.Header = c.line, address, slices.Clone(c.r.Header)
		if !strings.Contains(r.URL, "://") {
			r.URL = "http://" + r.URL
		}
		r.Method = http.MethodGet
		switch {
		case c.head:
			r.Method = http.MethodHead
		case c.get && body != "":
			r.URL = withQuery(r.URL, body)
		case c.data != nil:
			r.Method, r.Body = http.MethodPost, body
			if c.json {
				r.Default("Content-Type", "application/json")
				r.Default("Accept", "application/json")
			}
			r.Default("Content-Type", "application/x-www-form-urlencoded")
		}
		if c.method != "" {
			r.Method = c.method
		}
		if c.refuse != "" {
			c.load.Leave(c.line, r.Method+" "+foreign.Address(r.URL), "%s", c.refuse)
			continue
		}
		c.load.Add(r)
	}
}

func withQuery(address, query string) string {
	address, fragment, _ := strings.Cut(address, "#")
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	if fragment != "" {
		fragment = "#" + fragment
	}
	return address + separator + query + fragment
}

func (c *reader) header(value string) error {
	if strings.HasPrefix(value, "@") {
		return errors.New("header fields from a file are not read; write them with -H")
	}
	if name, rest, ok := strings.Cut(value, ":"); ok && strings.TrimSpace(rest) == "" {
		return fmt.Errorf("it takes the field %.60q away", name)
	}
	if name, ok := strings.CutSuffix(value, ";"); ok && !strings.Contains(value, ":") {
		value = name + ":"
	}
	f, ok := foreign.ParseField(value)
	if !ok {
		return errors.New("it is no header field, which has the form Name: value")
	}
	c.r.Header = append(c.r.Header, f)
	return nil
}

// body adds data; @FILE is read, and without binary its line ends are removed, as curl does.
func (c *reader) body(value string, binary bool) error {
	name, file := strings.CutPrefix(value, "@")
	if file {
		b, err := c.open(name)
		if err != nil {
			c.refuse = "its body cannot be read"
			return fmt.Errorf("its file cannot be read: %w", err)
		}
		value = string(b)
		if !binary {
			value = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
		}
	}
	c.data = append(c.data, value)
	return nil
}

// encoded adds data of --data-urlencode: content, =content, name=content.
func (c *reader) encoded(value string) error {
	name, content, named := strings.Cut(value, "=")
	if at := strings.IndexByte(name, '@'); at >= 0 {
		c.refuse = "its body cannot be read"
		return errors.New("data from a file is not encoded; write it with --data-urlencode NAME=VALUE")
	}
	switch {
	case !named:
		value = url.QueryEscape(value)
	case name == "":
		value = url.QueryEscape(content)
	default:
		value = name + "=" + url.QueryEscape(content)
	}
	c.data = append(c.data, value)
	return nil
}

func (c *reader) user(value string) error {
	c.r.Header = append(c.r.Header, foreign.Field{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(value))})
	return nil
}

func (c *reader) cookie(value string) error {
	f := foreign.Field{Name: "Cookie", Value: value}
	if !strings.Contains(value, "=") {
		return errors.New("cookies from a file are not read; write them as -b 'name=value'")
	}
	if !f.Valid() {
		return errors.New("it is no header field's value")
	}
	c.r.Header = append(c.r.Header, f)
	return nil
}
