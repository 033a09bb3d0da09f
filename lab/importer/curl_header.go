package importer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// header returns the fields of a request: those of -H, and curl's own unless -H replaces or
// removes them.
func (c *curlReader) header(method string, body int) (out []Field) {
	named := map[string]bool{}
	for _, line := range c.custom {
		name, value, ok := strings.Cut(line, ":")
		if !ok { // Name; is a field without a value
			name, value, ok = strings.Cut(line, ";")
			if !ok || strings.TrimSpace(value) != "" {
				c.load.Leave(c.line, "-H", "it is no header field, which has the form Name: value; curl does not send it either")
				continue
			}
		} else if strings.TrimSpace(value) == "" { // it removes the field
			named[strings.ToLower(strings.TrimSpace(name))] = true
			continue
		}
		f := Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
		if !f.Valid() {
			c.load.Leave(c.line, "-H", "it is no header field that a request can have")
			continue
		}
		named[strings.ToLower(f.Name)] = true
		out = append(out, f)
	}
	add := func(name, value string) {
		if f := (Field{Name: name, Value: value}); named[strings.ToLower(name)] {
			return
		} else if !f.Valid() {
			c.load.Leave(c.line, "the field "+name, "it is no header field's value")
		} else {
			out = append(out, f)
		}
	}
	for _, f := range c.own {
		add(f.Name, f.Value)
	}
	switch bearer := slices.ContainsFunc(c.own, func(f Field) bool { return f.Name == "Authorization" }); {
	case c.auth != "" && c.user != "":
		c.load.Leave(c.line, c.auth, "only Basic and Bearer are sent")
	case c.user != "" && !bearer:
		add("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.user)))
	}
	if c.compressed {
		add("Accept-Encoding", "deflate, gzip, br, zstd")
	}
	if len(c.cookies) > 0 {
		add("Cookie", strings.Join(c.cookies, "; ")) // RFC 6265, 4.2.1
	}
	switch {
	case c.span == "":
	case method == http.MethodGet || method == http.MethodHead:
		add("Range", "bytes="+c.span)
	default:
		add("Content-Range", fmt.Sprintf("bytes %s/%d", c.span, body))
	}
	if c.json {
		add("Content-Type", "application/json")
		add("Accept", "application/json")
	} else if method == http.MethodPost {
		add("Content-Type", "application/x-www-form-urlencoded")
	}
	return out
}

// set sets one of curl's own fields; an empty value removes it.
func (c *curlReader) set(name, value string) {
	c.own = slices.DeleteFunc(c.own, func(f Field) bool { return f.Name == name })
	if value != "" {
		c.own = append(c.own, Field{Name: name, Value: value})
	}
}

// field reads a line of -H, or a file of them.
func (c *curlReader) field(value string) error {
	name, file := strings.CutPrefix(value, "@")
	if !file {
		c.custom = append(c.custom, value)
		return nil
	}
	text, err := c.file(name)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			c.custom = append(c.custom, line)
		}
	}
	return nil
}

func (c *curlReader) userOf(value string) error {
	if !strings.Contains(value, ":") {
		return errors.New("it has no password, for which curl asks; write -u NAME:PASSWORD")
	}
	c.user = value
	return nil
}

func (c *curlReader) cookie(value string) error {
	switch {
	case strings.Contains(value, "="):
		c.cookies = append(c.cookies, value)
	case value != "": // an empty name means to start without cookies
		return errors.New("cookies from a file are not read; write them as -b 'name=value'")
	}
	return nil
}
